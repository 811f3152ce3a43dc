"""Networks: layers, shapes, parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import errors
from ._call import Call, Handle, Progress, ProgressFunction
from ._convert import (
    Path,
    Shape,
    Texts,
    batches_of,
    dims_of,
    frame,
    html_table,
    integer,
    name_of,
    path_of,
    seconds,
    shape_of,
    text_of,
    threads_of,
)
from ._native import ffi, lib

if TYPE_CHECKING:
    from .profile import Profile

SHOWN_ROWS = 20  # of a table in a notebook


def models() -> List[str]:
    """The names of the built-in networks.

    >>> vbslab.models()[:3]
    ['alexnet', 'vgg-s', 'vgg-16']
    """
    return [text_of(lib.vbs_model_name(i)) for i in range(lib.vbs_model_count())]


class Layer(NamedTuple):
    """A layer of a network, with the operators that are fused with it."""

    layer: int  #: 1, 2, ... in topological order
    name: str
    kind: str  #: the word of its operator, such as "conv"
    inputs: Tuple[int, ...]  #: the layers that it reads; 0 is the network's input
    shape: Tuple[int, ...]  #: of a sample of its output
    in_bytes: int  #: of a sample of all inputs together
    out_bytes: int  #: of a sample of the output
    weight_bytes: int  #: of all parameters
    macs: int  #: multiply-accumulates for a sample
    fused: Tuple[str, ...]  #: the words of the operators that are fused with it


class Output(NamedTuple):
    """A final output of a network."""

    name: str
    layer: int
    shape: Tuple[int, ...]  #: of a sample


class Input(NamedTuple):
    """An input of a network."""

    name: str
    shape: Tuple[int, ...]  #: of a sample; of a shared input its own
    number: str  #: what its elements are: "real", "whole" or "bool"
    shared: bool  #: it is the same for all samples


NUMBERS = ("real", "whole", "bool")  # by enum vbs_number
MODEL_FILES = (b".net", b".onnx", b".vbz")


def _choices(
    input: Union[None, Shape, Mapping[str, Shape]], fix: Mapping[str, float], until: Sequence[str], texts: Texts
) -> Any:
    """An array of struct vbs_input_choice."""
    shapes = dict(input) if isinstance(input, Mapping) else {} if input is None else {None: input}
    n = len(shapes) + len(fix)
    choices = ffi.new("struct vbs_input_choice[]", n + len(until))
    for choice, (name, shape) in zip(choices, shapes.items()):
        choice.name, choice.shape = texts(name), shape_of(shape)[0]
    for choice, (name, value) in zip(choices[len(shapes) : n], fix.items()):
        choice.name, choice.fixed, choice.value = texts(name), True, float(value)
    for choice, name in zip(choices[n : len(choices)], until):
        choice.name, choice.until = texts(name), True
    return choices


def inputs_of(c: Any) -> Tuple[Input, ...]:
    """The inputs of a struct vbs_network."""
    return tuple(
        Input(text_of(i.name), dims_of(i.shape), NUMBERS[i.number], bool(i.shared))
        for i in (c.inputs[k] for k in range(c.n_inputs))
    )


def batch_shape_of(c: Any, shape: Tuple[int, ...], n: int) -> Tuple[int, ...]:
    """The shape of an array of n samples of this shape: of batches of 1, along their first dimension."""
    ones = all(i.shape[:1] == (1,) for i in inputs_of(c))
    return (n, *(shape[1:] if c.whole and ones and shape[:1] == (1,) else shape))


class Network(Handle):
    """A network: a built-in one, or one from a .net, .onnx or .vbz file.

    Parameters
    ----------
    model : the name of a built-in network (:func:`models`), or the path of a file; behind either may
        stand a precision, as in "net.onnx:fp32"
    input : a shape of a sample in place of the model's own, as "3x227x227" or (3, 227, 227); of an
        ONNX file of several inputs a mapping from names to shapes
    fix : numbers that inputs of one element are, by their names: constants of the network
    until : names of tensors of an ONNX file, or of nodes, with which the network ends in the place of the
        file's outputs

    Networks are immutable; threads may share them.

    >>> network = vbslab.Network("lenet-5")
    >>> network
    <Network lenet-5: input 1x28x28, 7 layers, 431080 parameters>
    >>> network.layers[0].name, network.layers[0].shape
    ('conv1', (20, 24, 24))
    """

    _kind = "network"

    def __init__(
        self,
        model: Path,
        *,
        input: Union[None, Shape, Mapping[str, Shape]] = None,
        fix: Optional[Mapping[str, float]] = None,
        until: Union[str, Sequence[str]] = (),
    ) -> None:
        texts = Texts()
        choices = _choices(input, fix or {}, [until] if isinstance(until, str) else until, texts)
        out, path = ffi.new("struct vbs_network **"), path_of(model)
        file = path if path.endswith(MODEL_FILES) else path.rpartition(b":")[0]
        with Call() as call:
            call(
                lib.vbs_network_load_inputs,
                path,
                choices,
                len(choices),
                out,
                path=file if file.endswith(MODEL_FILES) else None,
            )
            self._c = ffi.gc(out[0], lib.vbs_network_free)

    @classmethod
    def from_text(cls, text: str, *, input: Optional[Shape] = None, source: str = "text") -> "Network":
        """A network from a model text in memory (models/README.md has the format)."""
        made, out, data = cls.__new__(cls), ffi.new("struct vbs_network **"), text.encode()
        shape = ffi.NULL if input is None else shape_of(input)
        with Call() as call:
            call(lib.vbs_network_parse, name_of(source, "source"), data, len(data), shape, out)
            made._c = ffi.gc(out[0], lib.vbs_network_free)
        return made

    def __repr__(self) -> str:
        if self.closed:
            return "<Network, closed>"
        shape = "x".join(map(str, self.input_shape))
        return f"<Network {self.name}: input {shape}, {self.n_layers} layers, {self.n_parameters} parameters>"

    @property
    def name(self) -> str:
        """The name of the network."""
        return text_of(self._use().name)

    @property
    def about(self) -> str:
        """One line for people; may be empty."""
        return text_of(self._use().about)

    @property
    def input_shape(self) -> Tuple[int, ...]:
        """The shape of a sample of the input."""
        return dims_of(self._use().input)

    @property
    def n_layers(self) -> int:
        """The number of layers."""
        return int(self._use().n_layers)

    @property
    def n_parameters(self) -> int:
        """The number of parameters of all layers."""
        return int(lib.vbs_network_parameters(self._use()))

    @property
    def hash(self) -> int:
        """A hash of everything that decides time and memory; networks of one hash may share profiles."""
        return int(lib.vbs_network_hash(self._use()))

    @property
    def layers(self) -> Tuple[Layer, ...]:
        """The layers in topological order; ``layers[0]`` is layer 1."""
        c = self._use()
        return tuple(self._layer(c, k) for k in range(1, c.n_layers + 1))

    @staticmethod
    def _layer(c: Any, k: int) -> Layer:
        layer = c.layers[k]
        return Layer(
            k,
            text_of(layer.name),
            text_of(lib.vbs_op_word(layer.op)),
            tuple(layer.inputs[0 : layer.n_inputs]),
            dims_of(layer.shape),
            lib.vbs_network_in_bytes(c, k),
            lib.vbs_network_out_bytes(c, k),
            lib.vbs_network_weight_bytes(c, k),
            layer.macs,
            tuple(text_of(lib.vbs_op_word(layer.fused[i].op)) for i in range(layer.n_fused)),
        )

    @property
    def inputs(self) -> Tuple[Input, ...]:
        """The inputs, of which there may be several; in ``input_shape`` they lie one after the other."""
        return inputs_of(self._use())

    @property
    def outputs(self) -> Tuple[Output, ...]:
        """The final outputs."""
        c = self._use()
        return tuple(
            Output(text_of(c.outputs[i].name), c.outputs[i].layer, dims_of(c.outputs[i].shape))
            for i in range(c.n_outputs)
        )

    def batch_shape(self, shape: Tuple[int, ...], n: int) -> Tuple[int, ...]:
        """The shape of an array of n samples, each of this shape."""
        return batch_shape_of(self._use(), shape, n)

    def values(self, layer: int, what: str = "weights", *, fused: Optional[int] = None) -> np.ndarray:
        """The values of a parameter of a layer, in the order of the parameter's shape (vbslab/model.h).

        Parameters
        ----------
        layer : 1, 2, ...
        what : "weights", "bias", "mean", "variance", "gamma", "beta" or "operand"
        fused : the number of the operator that is fused with the layer; None: the layer's own

        >>> vbslab.Network("lenet-5").values(1, "weights").shape
        (500,)
        """
        c = self._use()
        layer = integer(layer, "layer", 1, c.n_layers)
        known = {text_of(lib.vbs_parameter_word(i)): i for i in range(lib.VBS_N_PARAMETERS)}
        if what not in known:
            raise errors.usage(f"there is no parameter '{what}'; there are: {', '.join(known)}")
        number = -1 if fused is None else integer(fused, "fused", 0, max(c.layers[layer].n_fused - 1, 0))
        made = np.empty(lib.vbs_parameter_count(c, layer, number, known[what]), np.float32)
        with Call() as call:
            values = ffi.from_buffer("float[]", made, require_writable=True)
            call(lib.vbs_parameter_values, c, layer, number, known[what], 0, made.size, values)
        return made

    def to_onnx(self, path: Path) -> None:
        """Writes the network with all its parameters as an ONNX file."""
        c = self._use()
        with Call() as call:
            call(lib.vbs_network_export, c, path_of(path))

    def to_dataframe(self) -> Any:
        """The layers as a DataFrame, a row for each, with the fields of :class:`Layer`."""
        layers = self.layers
        columns = {name: [getattr(layer, name) for layer in layers] for name in Layer._fields}
        return frame(columns, {"model": self.name})

    def _repr_html_(self) -> str:
        layers = self.layers
        rows = [
            (k.layer, k.name, k.kind, "x".join(map(str, k.shape)), k.weight_bytes, k.macs) for k in layers[:SHOWN_ROWS]
        ]
        head = ("layer", "name", "kind", "shape", "weight bytes", "MACs")
        return html_table(repr(self)[1:-1], head, rows, len(layers) - len(rows))

    def measure(
        self,
        *,
        backend: Optional[str] = None,
        batches: Union[str, Iterable[int]] = "1-12",
        threads: int = 0,
        time_limit_s: Optional[float] = None,
        copies: bool = True,
        stripes: bool = False,
        folder: Optional[Path] = None,
        progress: Optional[ProgressFunction] = None,
    ) -> "Profile":
        """Measures every layer at every batch with every algorithm, and gives the :class:`Profile`.

        The profile is in memory only; :meth:`Store.measure` keeps it, with its samples, and goes on
        with a measurement that was broken off.

        Parameters
        ----------
        backend : "onednn" (default), "cudnn" or "analytic"; :func:`backends` says which can be used
        batches : "1-12", or numbers; 1 must be among them
        threads : threads that compute; 0: as many as this process may use
        time_limit_s : seconds; the default is 60. From 10 on there is a profile within them whatever the
            machine does: batches for which there is no time are left out, and algorithms that pack
            weights in formats of their own. Preparing one kernel for each layer, and running it once,
            may exceed it. Less bounds the refinement of times only
        copies : whether to measure how fast weights can be copied, for plans with weights included
        stripes : whether to measure kernels on rows of a sample too, for plans below the largest layer
        folder : where the file for that is made; the default is the current folder
        progress : a function of (share done, seconds left or None, text), called from time to time;
            what it raises ends the call

        >>> vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
        <Profile lenet-5: 7 layers, batches 1 to 4, analytic>
        """
        from .profile import Profile

        reporter = Progress(progress)
        own = batches_of(batches)
        texts = Texts()
        options = ffi.new("struct vbs_simple_options *")
        options.struct_size = ffi.sizeof("struct vbs_simple_options")
        options.backend, options.folder = texts(backend), texts.path(folder)
        options.batches, options.n_batches = own, len(own)
        options.threads = threads_of(threads)
        options.time_limit_s = seconds(time_limit_s, "time_limit_s")
        options.weights = lib.VBS_WEIGHTS_INCLUDED if copies else lib.VBS_WEIGHTS_EXCLUDED
        options.stripes = bool(stripes)
        reporter.fill(options.progress)
        c, out = self._use(), ffi.new("struct vbs_profile **")
        with Call(progress=reporter) as call:
            call(lib.vbs_simple_measure, c, options, out)
            return Profile._adopt(out[0])
