"""The kinds of primitives: each primitive has exactly one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: The closed list, with what each is.
KINDS: Final[dict[str, str]] = {
    "elementwise": "each element of the result is computed from the elements in its place:"
    " arithmetic, comparisons, choices",
    "conversion": "the same elements with another dtype or in another representation, and copies",
    "constant": "an array without operands: a range, zeros, a symbolic size",
    "shape": "the same elements in another arrangement",
    "indexing": "some elements are read or replaced",
    "reduction": "axes are reduced, wholly or in windows",
    "cumulative": "running sums, products and extremes",
    "sorting": "elements in order, or the largest of them",
    "contraction": "matrix products, dense or sparse",
    "convolution": "convolutions",
    "linear algebra": "decompositions, solvers, Fourier transforms",
    "random": "keys and random bits",
    "control flow": "`scan`, `while` and `cond`: how often a program runs depends on numbers",
    "call": "a program or a function of another language that runs once, as it is: `jit`,"
    " `checkpoint`, custom rules",
    "collective": "data moves between the devices, or the members, of a named axis",
    "sharding": "where values are, and over which axes they vary; `shard_map` itself",
    "autodiff": "marks for differentiation; the values stay as they are",
    "state": "references: reads, writes, and what makes and ends them",
    "callback": "calls of Python while the program runs, and checks",
    "ordering": "tokens, barriers, notes for the compiler; the values stay as they are",
    "kernel": "Pallas kernels, and what only occurs inside of them",
}

#: What authors write instead.
MEANT_KINDS: Final[dict[str, str]] = {
    "pointwise": "elementwise",
    "arithmetic": "elementwise",
    "unary": "elementwise",
    "binary": "elementwise",
    "comparison": "elementwise",
    "cast": "conversion",
    "loop": "control flow",
    "control": "control flow",
    "control_flow": "control flow",
    "control-flow": "control flow",
    "controlflow": "control flow",
    "conditional": "control flow",
    "branch": "control flow",
    "communication": "collective",
    "matmul": "contraction",
    "dot": "contraction",
    "conv": "convolution",
    "reduce": "reduction",
    "higher-order": "call",
    "function": "call",
    "custom": "call",
    "gather": "indexing",
    "slicing": "indexing",
    "layout": "shape",
    "reshape": "shape",
    "host": "callback",
    "debug": "callback",
    "rng": "random",
    "ref": "state",
    "linalg": "linear algebra",
    "fft": "linear algebra",
    "pallas": "kernel",
    "sort": "sorting",
}

#: Primitives of JAX without a definition, of which the kind alone is known.  Names that a
#: project may well give to a primitive of its own (`load`, `pack`, `unique`) are not here.
_UNDEFINED: Final[dict[str, str]] = {
    "elementwise": "_copysign stochastic_round",
    "conversion": "coo_fromdense coo_todense csr_fromdense csr_todense",
    "contraction": "coo_matmat coo_matvec coo_spmm coo_spmv csr_matmat csr_matvec csr_spmm"
    " csr_spmv scaled_matmul scaled_matmul_wrapper dot_product_attention_fwd"
    " dot_product_attention_fwd_wrapper dot_product_attention_bwd"
    " dot_product_attention_bwd_wrapper dot_product_attention_fp8_fwd"
    " dot_product_attention_fp8_fwd_wrapper dot_product_attention_fp8_bwd"
    " dot_product_attention_fp8_bwd_wrapper",
    "linear algebra": "spsolve eigh_jacobi",
    "random": "prng_join prng_split",
    "call": "cudnn_fusion rnn_fwd rnn_bwd custom_fusion jaxpr_call",
    "collective": "thunky.all_gather thunky.all_reduce thunky.all_to_all thunky.reduce_scatter"
    " thunky.collective_permute thunky.collective_group",
    "sharding": "global_array_to_host_local_array host_local_array_to_global_array shard_alike",
    "ordering": "scheduling_group dce_sential",
    "kernel": "all_reduce_ffs all_reduce_population_count async_copy_scales_to_tmem"
    " async_copy_smem_to_tmem async_copy_sparse_metadata_to_tmem async_load async_prefetch"
    " async_store_smem async_store_tmem barrier_arrive barrier_arrive_and_wait barrier_test"
    " barrier_wait commit_group commit_smem commit_tmem copy_gmem_to_smem copy_smem_to_gmem"
    " debug_barrier debug_barrier_p elementwise_inline_asm elementwise_inline_asm_p emit_pipeline"
    " griddepcontrol_launch_dependents griddepcontrol_wait inline_mgpu inline_mgpu_p layout_cast"
    " masked_cummax masked_cummin masked_cumsum masked_sort matmul_acc_lhs matmul_lhs_fifo"
    " matmul_pop matmul_pop_fifo matmul_push_rhs mgpu_atomic_store mosaic_gpu_p"
    " mosaic_gpu_reduce_max mosaic_gpu_reduce_min mosaic_gpu_reduce_prod mosaic_gpu_reduce_sum"
    " multimem_load_reduce multimem_store pack_elementwise parallel_loop query_cluster_cancel"
    " sc_fetch_and_add semaphore_signal_multicast semaphore_signal_parallel set_max_registers"
    " set_max_registers_p tcgen05_commit_arrive tcgen05_mma try_cluster_cancel"
    " unpack_elementwise wait_gmem_to_smem wait_load_tmem wait_smem_to_gmem wgmma"
    " wgmma_accumulator_deref wgmma_accumulator_deref_p wgmma_accumulator_store"
    " wgmma_accumulator_store_p wgmma_ref wgmma_wait",
}
_KIND_OF: Final = {name: kind for kind, names in _UNDEFINED.items() for name in names.split()}

#: Primitives that were something else: without this parameter they have the other kind.
_ELSE: Final[dict[str, tuple[str, str]]] = {
    # The collective sends the value of one source; the mark of older JAX, now `pvary`, has none.
    "pbroadcast": ("source", "sharding"),
}


def kind_of(primitive: str, defined: str, parameters: Iterable[str]) -> str:
    """The kind of an equation, ``""`` where it is unknown.

    ``defined`` is the kind in the definition of its primitive, ``""`` if there is none.
    """
    needed, other = _ELSE.get(primitive, ("", ""))
    if needed and needed not in parameters:
        return other
    return defined or _KIND_OF.get(primitive, "")
