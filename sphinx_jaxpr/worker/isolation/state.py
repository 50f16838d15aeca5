"""Slots of state: each can be read, compared with before, and put back.

The content of a slot is a mapping.  Its values are compared by identity, so that no code of
theirs runs: only the fact that a name was bound to another object matters.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, MutableMapping, MutableSet
from typing import Any, ClassVar, Final

Content = dict[Any, Any]


class _Missing:
    def __repr__(self) -> str:
        return "missing"


#: The value of a missing key.
MISSING: Final = _Missing()

_PLAIN: Final = frozenset({int, str, bytes, bool, complex, type(None)})


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same object, or plain and equal."""
    if first is second:
        return True
    kind = type(first)
    if kind is not type(second):
        return False
    if kind is float:
        return repr(first) == repr(second)  # nan, and the sign of 0.0
    if kind is tuple:
        return len(first) == len(second) and all(map(same, first, second))
    return kind in _PLAIN and first == second


class StateSlot:
    """Some state: its content at the start, and as last seen."""

    #: What messages call one entry.
    entry: str = "{name}[{key!r}]"

    def __init__(self, name: str) -> None:
        self.name = name
        self.base = self.read()
        self.last = self.base

    def read(self) -> Content:
        """The present content."""
        raise NotImplementedError

    def write(self, content: Content) -> None:
        """Replace the content by ``content``."""
        raise NotImplementedError

    def unchanged(self) -> bool:
        """Whether the content surely is as last seen; after ``False`` it is read."""
        return False

    def label(self, key: Hashable) -> str:
        """What messages call one entry."""
        return self.entry.format(name=self.name, key=key)

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """Whether a change is one that another program could see."""
        return True

    def changes(self) -> list[tuple[Hashable, Any, Any]]:
        """What changed since the last look: key, before, after."""
        now, last = self.read(), self.last
        changes = [
            (key, old, now.get(key, MISSING))
            for key, old in last.items()
            if not same(old, now.get(key, MISSING))
        ]
        changes += [(key, MISSING, new) for key, new in now.items() if key not in last]
        self.last = now
        return [change for change in changes if self.counts(*change)]

    def put(self, key: Hashable, value: Any) -> bool:
        """Set one entry to a value seen before; whether that worked."""
        content = dict(self.last)
        if value is MISSING:
            content.pop(key, None)
        else:
            content[key] = value
        try:
            self.write(content)
            self.last = self.read()
        except Exception:  # of the system's, or of a class that resists
            return False
        return same(self.last.get(key, MISSING), value)

    def put_back(self) -> bool:
        """Restore the content of the start; whether that worked."""
        try:
            self.write(self.base)
            self.last = self.read()
        except Exception:  # of the system's, or of a class that resists
            return False
        return not self._differs()

    def _differs(self) -> bool:
        base, last = self.base, self.last
        return any(
            not same(base.get(key, MISSING), last.get(key, MISSING))
            and self.counts(key, base.get(key, MISSING), last.get(key, MISSING))
            for key in {*base, *last}
        )


class MappingSlot(StateSlot):
    """A mapping that is changed in place: a namespace, a registry."""

    ordered: ClassVar = True  # whether programs may see the order of its keys

    def __init__(self, name: str, mapping: MutableMapping[Any, Any]) -> None:
        self.mapping = mapping
        super().__init__(name)

    def read(self) -> Content:
        """Its items."""
        return dict(self.mapping)

    def changes(self) -> list[tuple[Hashable, Any, Any]]:
        """What changed; if only the order of the keys did, the first key that moved."""
        last = self.last
        changes = super().changes()
        if not changes and self.ordered and self.last.keys() == last.keys():
            moved = (key for key, before in zip(self.last, last, strict=False) if key != before)
            changes = [(key, last[key], last[key]) for key in moved][:1]
        return changes

    def unchanged(self) -> bool:
        """The fast way: the same objects in the same order."""
        mapping, last = self.mapping, self.last
        return (
            len(mapping) == len(last)
            and all(map(operator.is_, mapping.values(), last.values()))
            and all(map(operator.is_, mapping, last))
        )

    def write(self, content: Content) -> None:
        """Set item by item, or all items again if the order would differ."""
        mapping = self.mapping
        for key in [key for key in mapping if key not in content]:
            del mapping[key]
        for key, value in content.items():
            if mapping.get(key, MISSING) is not value:
                mapping[key] = value
        if list(mapping) != list(content):
            mapping.clear()
            mapping.update(content)


class Namespace(MappingSlot):
    """The names of a module of the project, or the attributes of an object."""

    entry = "{name}.{key}"

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """All but what Python itself keeps there, except the path that a package searches."""
        if key == "__path__":
            return True
        return not (isinstance(key, str) and key.startswith("__") and key.endswith("__"))

    def write(self, content: Content) -> None:
        """Set item by item: running code looks names up here."""
        mapping = self.mapping
        for key in [key for key in mapping if key not in content]:
            if self.counts(key, mapping[key], MISSING):
                del mapping[key]
        for key, value in content.items():
            now = mapping.get(key, MISSING)
            if now is value:
                continue
            if self.counts(key, MISSING, value) or self.counts(key, value, now):
                mapping[key] = value


class Foreign(Namespace):
    """The names of a module of a library: functions, classes and numbers that anyone may use.

    Private state of a library, and what it creates on first use, don't count.
    """

    ordered: ClassVar = False

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """A function or a number that was replaced or added; a module that is no longer one."""
        if not isinstance(key, str) or key.startswith("_") or _is_module(new):
            return False
        before = new if old is MISSING else old
        return callable(before) or _is_module(before) or isinstance(before, (float, complex))


class Public(Foreign):
    """The names of a public module of JAX or NumPy, which code may use as a notice board."""

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """A plain value as well."""
        plain = isinstance(new if old is MISSING else old, (int, str, bytes))
        return super().counts(key, old, new) or (plain and not str(key).startswith("_"))


def _is_module(value: Any) -> bool:
    return isinstance(value, type(operator))


class AttributesSlot(StateSlot):
    """The attributes of a class, or those in the slots of an object."""

    entry = "{name}.{key}"

    def __init__(self, name: str, owner: Any, names: Callable[[], Content]) -> None:
        self.owner, self.names = owner, names
        super().__init__(name)

    def read(self) -> Content:
        """The attributes that are set."""
        return self.names()

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """All but what Python itself keeps there."""
        return key not in _KEPT_BY_CLASSES

    def write(self, content: Content) -> None:
        """Set one by one, bypassing a class's own ``__setattr__``."""
        now = self.read()
        is_class = isinstance(self.owner, type)
        put = type.__setattr__ if is_class else object.__setattr__
        drop = type.__delattr__ if is_class else object.__delattr__
        for key in now:
            if key not in content and self.counts(key, MISSING, MISSING):
                drop(self.owner, str(key))
        for key, value in content.items():
            if now.get(key, MISSING) is not value and self.counts(key, MISSING, value):
                put(self.owner, str(key), value)


_KEPT_BY_CLASSES: Final = frozenset(
    {"__abstractmethods__", "_abc_impl", "__dict__", "__weakref__", "__doc__", "__module__"}
    | {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
    | {"__static_attributes__", "__firstlineno__"}
)


class ListSlot(StateSlot):
    """A list or another sequence that is changed in place."""

    entry = "{name}"

    def __init__(self, name: str, items: Any) -> None:
        self.items = items
        super().__init__(name)

    def read(self) -> Content:
        """All items, under a single key, since items have no names."""
        return {"items": tuple(self.items)}

    def unchanged(self) -> bool:
        """The fast way: the same objects in the same order."""
        last = self.last["items"]
        return len(last) == len(self.items) and all(map(operator.is_, self.items, last))

    def write(self, content: Content) -> None:
        """In place: others hold the same list."""
        self.items.clear()
        self.items.extend(content["items"])


class SetSlot(StateSlot):
    """A set."""

    entry = "{name}"

    def __init__(self, name: str, members: MutableSet[Any]) -> None:
        self.members = members
        super().__init__(name)

    def read(self) -> Content:
        """Each member as a key."""
        return dict.fromkeys(self.members, True)

    def unchanged(self) -> bool:
        """The fast way: the same objects in the same order."""
        last = self.last
        return len(last) == len(self.members) and all(map(operator.is_, self.members, last))

    def write(self, content: Content) -> None:
        """In place: others hold the same set."""
        self.members.clear()
        self.members.update(content)  # type: ignore[attr-defined]  # no name of MutableSet


class ClassSlot(StateSlot):
    """The class of an object."""

    entry = "{name}.{key}"

    def __init__(self, name: str, thing: Any) -> None:
        self.thing = thing
        self.kind = type(thing)
        super().__init__(name)

    def read(self) -> Content:
        """The class alone."""
        return {"__class__": type(self.thing)}

    def unchanged(self) -> bool:
        """The fast way."""
        before, self.kind = self.kind, type(self.thing)
        return before is self.kind

    def write(self, content: Content) -> None:
        """Set the class, bypassing the object's own ``__setattr__``."""
        object.__setattr__(self.thing, "__class__", content["__class__"])


class ValueSlot(StateSlot):
    """One value read and written as a whole: a cell, a random state, an array's bytes."""

    entry = "{name}"

    def __init__(
        self, name: str, get: Callable[[], Any], put: Callable[[Any], None] | None
    ) -> None:
        self._get, self._put = get, put
        super().__init__(name)

    def read(self) -> Content:
        """The value; empty if there is none."""
        value = self._get()
        return {} if value is MISSING else {"": value}

    def unchanged(self) -> bool:
        """Whether the value is the same."""
        return same(self._get(), self.last.get("", MISSING))

    def write(self, content: Content) -> None:
        """Set the value, if it can be written."""
        if self._put is None:
            raise TypeError(f"{self.name} can't be written")
        if not same(self._get(), content.get("", MISSING)):
            self._put(content.get("", MISSING))


class Settings(StateSlot):
    """Several settings, read together and written one by one."""

    def __init__(
        self,
        name: str,
        read: Callable[[], Content],
        write: Callable[[Any, Any], None],
        label: str = "{name}[{key!r}]",
    ) -> None:
        self._read, self._write, self.entry = read, write, label
        super().__init__(name)

    def read(self) -> Content:
        """All of them."""
        return self._read()

    def write(self, content: Content) -> None:
        """Set those that differ."""
        now = self._read()
        for key in {*now, *content}:
            value = content.get(key, MISSING)
            if not same(now.get(key, MISSING), value):
                self._write(key, value)
