"""Ask the processor to fetch an array's entry before it is needed."""

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic


@intrinsic
def _prefetch(context: Any, array: Any, position: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = arguments[1]
        if signature.args[0].ndim == 2:
            width = builder.extract_value(view.shape, 1)
            offset = builder.mul(offset, builder.trunc(width, offset.type))
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(view.data, [offset]), byte)
        # to be read, to be kept in all caches, data
        builder.call(function, [address, integer(0), integer(3), integer(1)])
        return context.get_dummy_value()

    return types.void(array, position), generate


def _nothing(array: Any, position: Any) -> None:
    """Stand in for :func:`prefetch` where nothing is compiled."""


prefetch = _nothing if config.DISABLE_JIT else _prefetch
