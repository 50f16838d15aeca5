"""Hides what one request changes from the others.

One process traces many requests, each of which must have the result that it has alone in a
process of its own.  So before each request all known state is reset to that of the start.
Imports set state too: each module has a script of what its body changed and imported, in
order, and where a later request imports the module again, its script is replayed.

That restores the state, but not the module: its body ran in the state of the first import.
If that state differed from the present one, or if something can't be undone, the request is
*refused*, and traced in another process.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib.machinery
import re
import sys
import threading
import zipimport
from collections.abc import Callable, Hashable, Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any, Final

import jax

from ...tracing.result import Pairs
from .objects import (
    Function,
    FunctionCache,
    Walk,
    class_slot,
    details,
    is_public,
    namespaces,
    registries,
    traced_kinds,
)
from .registrations import Devices, Registrations
from .scripts import Refused, Script, State, StateChange, equal
from .settings import all_settings, seed
from .state import MISSING, ClassSlot, Namespace, StateSlot, same
from .system import stop_timers

# --- one process and its requests

_clear_caches: Final = jax.clear_caches  # code may set another

#: Requests after which JAX's caches are emptied: of each program they keep some 40 kB.
CACHED: Final = 500

_LOADERS: Final[tuple[Any, ...]] = (
    importlib.machinery.SourceFileLoader,
    importlib.machinery.SourcelessFileLoader,
    zipimport.zipimporter,
)


class Isolation:
    """The state of one worker process; ``ours`` says whether a module is the project's."""

    def __init__(self, ours: Callable[[str], Any]) -> None:
        self.ours = ours
        self.thread = threading.get_ident()
        self.scripts: dict[str, Script] = {}
        self.modules: dict[str, ModuleType] = {}
        self.part_of: dict[str, str] = {}  # module of a library -> the one whose import ran it
        self.meddling: set[str] = set()  # modules whose code may change what others hold
        self.elsewhere: dict[str, int] = {}  # module that another thread ran -> for which request
        self.curious: set[str] = set()  # modules whose code may see that others were imported
        self.setting: dict[str, list[StateSlot]] = {}  # module -> settings that its code may change
        self.unseen = False  # whether such code ran since all was looked at
        self.registrations = Registrations(self._by_whom)
        self.spent = ""  # what could not be put back
        self.replaced = ""  # what all code uses, and may have kept results of
        self.traced_in: State = {}
        self.devices = Devices()
        self.request = 0
        self._begin()
        self.running = False

    def install(self) -> None:
        """Note the present state; watch imports from here on."""
        seed()
        self.registrations.install()
        self.kept: list[Any] = []
        self.base = {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names
        sys.addaudithook(self._audit)
        for loader in _LOADERS:
            loader.exec_module = self._watching(loader.exec_module)
        self.slots_by_part: dict[tuple[int, str], StateSlot] = {}
        self.named = all_settings()
        self.settings = [slot for slot, _ in self.named]
        self.loaded = dict(sys.modules)
        self.kinds = traced_kinds()
        self.near: list[StateSlot] = []
        self.far: list[StateSlot] = []
        self.spaces: dict[str, StateSlot] = {}
        self.compares = False  # whether the last three are complete
        self.slots: dict[str, list[StateSlot]] = {}  # of each module of the project

    # -- one request

    @contextlib.contextmanager
    def of_request(self) -> Iterator[None]:
        """The state of the start around one request."""
        if self.spent:
            raise Refused(self.spent)
        self.request += 1
        self._begin()
        try:
            yield
        finally:
            self.running = False
            stop_timers()
            self._end()

    def _begin(self) -> None:
        self.running = True
        self.calm = True  # while no code of the project has run
        self.meddled = False  # whether a module that meddles is active
        self.alert: dict[int, StateSlot] = {}  # settings that active modules may change
        self.refusal = ""
        self.now: State = {}
        self.touched: dict[int, StateSlot] = {}
        self.active: set[str] = set()
        self.current: list[StateSlot] = []  # slots of the active modules
        self.functions: list[StateSlot] = []  # of those, functions and the classes of objects
        self.stack: list[Script] = []
        self.load: list[str] = []  # modules that one import ran

    def prepared(self) -> Pairs:
        """Before a trace: forget results of another state; return the present settings."""
        if not self.calm:
            self._flush()
        self.calm = False
        why = self.devices.others(self.now)
        if why:
            self._wonder(why)
            self._refuse(why)
        self.devices.settle()
        if not equal(self.traced_in, self.now) or self.request % CACHED == 0:
            _clear_caches()
        self.traced_in = dict(self.now)
        if not self.now:
            return ()
        settings = {id(slot) for slot in self.settings}
        pairs = (
            (slot.label(key), _shown(value))
            for (slot, key), value in self.now.items()
            if id(slot) in settings
        )
        return tuple(sorted(pairs))

    def _wonder(self, why: str) -> None:
        """Note that this request may have made JAX look for devices."""
        if why and not self.devices.settled:
            self.spent = why

    @property
    def forgets(self) -> bool:
        """Whether the state differs from the one in which the last request was traced."""
        return not equal(self.traced_in, self.now)

    def _end(self) -> None:
        self.stack.clear()
        self._flush()
        if not equal(self.traced_in, self.now):
            self.traced_in = self.now  # the trace itself changed something
        if not self.calm:
            self._wonder(self.devices.others(self.now))
        for slot in self.touched.values():
            with contextlib.suppress(Exception):  # the function that sets it was changed
                if slot.put_back():
                    continue
            self.spent = f"{slot.name} can't be restored"
        self.spent = self.spent or self.replaced
        for slot in self.current:
            if isinstance(slot, FunctionCache):
                slot.put_back()
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module

    def verdict(self) -> str:
        """Why the outcome of this request may differ from its outcome alone, or ``""``."""
        if self.refusal:
            return self.refusal
        if foreign := self.registrations.foreign(self.active, self.base, self.request):
            return foreign
        if (curious := self.curious & self.active) and self.strangers:
            return f"{min(curious)} may see what was imported for other blocks"
        for script in self.scripts.values():
            if script.blurred & self.active and script.module not in self.active:
                return f"{script.module}, or a module that it imports, changed what others hold"
        return ""

    @property
    def strangers(self) -> bool:
        """Whether modules ran here that this request doesn't import."""
        return any(name not in self.active for name in self.scripts)

    def _by_whom(self) -> tuple[str, int] | None:
        """The module whose body runs, and for which request; ``None`` if none runs."""
        if not self.running:
            return None
        return self.stack[-1].module if self.stack else "", self.request

    # -- changes

    def _flush(self) -> None:
        """Note what changed since the last look, as changes by the running module."""
        self._look(self.alert.values())
        self._look(self.current)
        if self.meddled:
            self._look(self.near)
            self._look(self.functions)
            self.unseen = True

    def _look(self, slots: Iterable[StateSlot]) -> None:
        script = self.stack[-1] if self.stack else None
        for slot in slots:
            try:
                changes = () if slot.unchanged() else slot.changes()
            except Exception as error:  # the function that reads it was changed
                self.spent = f"{slot.name} can't be read: {type(error).__name__}"
                continue
            for key, _, new in changes:
                self._note(slot, key, new, script)

    def _note(self, slot: StateSlot, key: Hashable, new: Any, script: Script | None) -> None:
        self.touched[id(slot)] = slot
        if slot.name == "builtins" and key in slot.base:
            self.replaced = f"{slot.label(key)} was replaced while other code ran"
        if isinstance(slot, Namespace) and self._is_submodule(slot.name, key, new):
            return  # a consequence of the import
        self._set(slot, key, new)
        if script is not None:
            script.steps.append(StateChange(slot, key, new))

    def _look_far(self) -> None:
        """Look at everything, if there is a reason to."""
        if self.unseen:
            self._look(self.far)
            self.unseen = False

    def _set(self, slot: StateSlot, key: Hashable, new: Any) -> None:
        if same(slot.base.get(key, MISSING), new):
            self.now.pop((slot, key), None)
        else:
            self.now[slot, key] = new

    def _is_submodule(self, package: str, key: Hashable, value: Any) -> bool:
        return isinstance(value, ModuleType) and sys.modules.get(f"{package}.{key}") is value

    def _refuse(self, why: str) -> None:
        if not self.refusal:
            self.refusal = why
        raise Refused(why)

    def _beware(self) -> None:
        """Code is about to run that may change anything.

        All that it could change is noted now, not at the start: many projects have no such code.
        """
        self.meddled = True
        if self.compares:
            return
        self.compares = True
        public = {name: module for name, module in self.loaded.items() if is_public(name)}
        others = {name: module for name, module in self.loaded.items() if name not in public}
        self.near += [*namespaces(public).values(), *registries(public)]
        self.near += map(class_slot, self.kinds)
        self.spaces |= (spaces := namespaces(others))
        self.far += [*spaces.values(), *details(public)]

    # -- imports

    def reached(self, name: str, names: Any = ()) -> None:
        """An import statement, or a page, asked for a module and perhaps for submodules."""
        if name.partition(".")[0] in self.base or not self.running:
            return
        if threading.get_ident() != self.thread:
            return
        self._reach(name)
        for item in names or ():
            if f"{name}.{item}" in self.scripts:
                self._reach(f"{name}.{item}")

    def _reach(self, name: str) -> None:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            module = ".".join(parts[:end])
            module = self.part_of.get(module, module)
            if self.elsewhere.get(module, self.request) != self.request:
                self._refuse(f"{module} was imported by another thread, for another block")
            if module not in self.scripts:
                continue
            if module not in self.active:
                if not self.calm:
                    self._flush()
                self._play(module)
            if self.stack and self.stack[-1].module != module:
                self.stack[-1].imports(module)

    def _play(self, name: str) -> None:
        """Repeat what the body of a module did to the state."""
        if name in self.active:
            return
        script = self.scripts[name]
        if not equal(script.given, self.now):
            self._refuse(f"{name} was imported for another block while {self._difference(script)}")
        self._activate(name)
        for step in script.steps:
            if isinstance(step, str):
                self._play(step)
            elif self._again(step):
                self._set(step.slot, step.key, step.new)
            else:
                self._refuse(f"{step.slot.label(step.key)} can't be set again as {name} sets it")

    def _again(self, step: StateChange) -> bool:
        self.touched[id(step.slot)] = step.slot
        return step.slot.put(step.key, step.new)

    def _difference(self, script: Script) -> str:
        for key in {**script.given, **self.now}:
            then, now = script.given.get(key, MISSING), self.now.get(key, MISSING)
            if not same(then, now):
                slot, name = key
                then = slot.base.get(name, MISSING) if then is MISSING else then
                return f"{slot.label(name)} was {_shown(then)}"
        return "the state was different"

    def _activate(self, name: str) -> None:
        self.active.add(name)
        self._attend(name)
        package, _, last = name.rpartition(".")
        module, above = self.modules.get(name), self.modules.get(package)
        if module is not None and above is not None and last not in vars(above):
            slot = self.slots_by_part.get((id(above), ""))
            if slot is not None:
                self.touched[id(slot)] = slot
                slot.put(last, module)

    def _attend(self, name: str) -> None:
        """Watch what a module holds from now on in this request."""
        for slot in self.slots.get(name, ()):
            (self.functions if isinstance(slot, (Function, ClassSlot)) else self.current).append(
                slot
            )
        if name in self.meddling:
            self._beware()
        self._watch(self.setting.get(name, ()))

    def _watch(self, settings: Iterable[StateSlot]) -> None:
        self.alert.update((id(slot), slot) for slot in settings)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Read the code of a module before it runs."""
        if event != "exec" or not self.running or not self.stack:
            return
        code, script = args[0], self.stack[-1]
        if not isinstance(code, CodeType) or code.co_name != "<module>":
            return
        used = words(code)
        settings = [
            slot
            for slot, named in self.named
            if not named.isdisjoint(used) or not ANY_SETTING.isdisjoint(used)
        ]
        self.setting.setdefault(script.module, []).extend(settings)
        self._watch(settings)
        if self.ours(script.module):
            if meddles(code):
                self.meddling.add(script.module)
                self._beware()
            if looks_around(code):
                self.curious.add(script.module)

    def _watching(self, plain: Callable[[Any, ModuleType], None]) -> Any:
        @functools.wraps(plain)
        def exec_module(loader: Any, module: ModuleType) -> None:
            if self.running and threading.get_ident() == self.thread:
                self._execute(plain, loader, module)
                return
            if self.running and module.__name__.partition(".")[0] not in self.base:
                self.elsewhere.setdefault(module.__name__, self.request)
            plain(loader, module)

        return exec_module

    def _execute(self, plain: Any, loader: Any, module: ModuleType) -> None:
        """Run the body of a module, and note what it does."""
        name = module.__name__
        top = name.partition(".")[0]
        above = self.stack[-1].module if self.stack else ""
        again = self.modules.get(name) is module
        inner = top == above.partition(".")[0] and not self.ours(above)
        if top in self.base or inner or again:
            plain(loader, module)
            if not again:
                self._adopt(module, above if inner else "")
            return
        self.calm = False
        self._flush()
        if self.stack:
            self.stack[-1].imports(name)
        else:
            self._look_far()
            self.load = []
        script = self.scripts[name] = Script(name, dict(self.now))
        self.load.append(name)
        self.active.add(name)
        self.stack.append(script)
        if not self.ours(name):  # too much code to read
            self._beware()
        try:
            plain(loader, module)
        except BaseException:
            self._ran(script)
            raise
        self._ran(script)
        self.modules[name] = module
        if self.ours(name):
            walk = Walk(
                self.slots_by_part,
                lambda name_met: name_met in self.scripts and bool(self.ours(name_met)),
            )
            self.slots[name] = walk.module(module)
            self.kept.append(walk.kept)
            self._attend(name)
        else:
            self._adopt(module, "")

    def _ran(self, script: Script) -> None:
        self._flush()
        if len(self.stack) == 1:  # after a whole import: check what is too much for each step
            count = len(script.steps)
            self._look_far()
            if len(script.steps) > count:
                script.blurred.update(loaded for loaded in self.load if loaded != script.module)
        self.stack.pop()

    def _adopt(self, module: ModuleType, owner: str) -> None:
        """Watch a module of a library from now on."""
        name = module.__name__
        if owner:
            self.part_of[name] = owner
        known = name in self.spaces or (name in self.loaded and not is_public(name))
        if not known and isinstance(getattr(module, "__dict__", None), dict):
            slots = namespaces({name: module})
            self.spaces |= slots
            if is_public(name):
                self.near += slots.values()
                self.far += details({name: module})
            else:
                self.far += slots.values()
            self.slots_by_part[id(module), ""] = slots[name]


def _shown(value: Any) -> str:
    if value is MISSING:
        return "not set"
    try:
        text = repr(value)
    except Exception:  # an object of the user's
        text = type(value).__name__
    return text if len(text) <= 80 else text[:80] + "..."


# --- what code may change in other modules, judged by its names and instructions

_SETTING: Final = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_WORD: Final = re.compile(r"\w+")
_LONGEST_NAME: Final = 200
#: Code with one of these may change any setting.
ANY_SETTING: Final = frozenset({"exec", "eval", "ctypes", "__enter__", "enter_context"})
_AROUND: Final = frozenset({"__subclasses__", "get_objects", "get_referrers"})
_NAMES: Final = frozenset(
    """setattr delattr exec eval vars __dict__ __builtins__ __setattr__ __delattr__ patch reload
    modules defjvp defjvps defvjp def_impl def_abstract_eval def_effectful_abstract_eval
    __code__ __defaults__ __kwdefaults__ __import__ ctypes""".split()
)


def words(code: CodeType) -> set[str]:
    """The names that a module's code uses, and the words of its short strings."""
    names: set[str] = set()
    for block in _all(code):
        for name in block.co_names:
            names.update(name.split("."))
        for constant in block.co_consts:
            if isinstance(constant, str) and len(constant) < _LONGEST_NAME:
                names.update(_WORD.findall(constant))
    return names


def meddles(code: CodeType) -> bool:
    """Whether a module's code, or a function in it, may change other modules' objects."""
    return any(_sets_others(block) for block in _all(code))


def looks_around(code: CodeType) -> bool:
    """Whether code may ask which modules are loaded, or which classes inherit from one."""
    return any(
        not _AROUND.isdisjoint(block.co_names)
        # ``sys.modules[__name__]`` is the module itself.
        or ("modules" in block.co_names and "__name__" not in block.co_names)
        for block in _all(code)
    )


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all(constant)


def _sets_others(code: CodeType) -> bool:
    names = code.co_names
    if not _NAMES.isdisjoint(names) or any("interpreters" in name for name in names):
        return True
    raw = code.co_code
    becomes = "__class__" in names  # an object whose class is set changes for all its holders
    return any(
        op in _SETTING and (becomes or not _of_first_argument(code, raw, position * 2))
        for position, op in enumerate(raw[::2])
    )


def _of_first_argument(code: CodeType, raw: bytes, position: int) -> bool:
    """Whether the object just loaded is the function's first argument: ``self``."""
    before = dis.opname[raw[position - 2]] if position >= 2 else ""
    # An instruction with two loads packs two numbers, the last one in the low bits.
    argument = raw[position - 1] & 15 if before.count("LOAD_FAST") == 2 else raw[position - 1]
    return bool(code.co_argcount) and before.startswith("LOAD_FAST") and argument == 0
