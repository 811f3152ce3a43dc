# The layers with weights of models/NAME.net: network, name, conv or fc, channels, height and width
# of the input, channels of the output, kernel, stride, padding, groups. Square windows only.
FNR == 1 { previous = "input" }
{ sub(/#.*/, "") }
NF == 0 || $1 == "about" { next }
$1 == "model" {
    network = $2
    next
}
$1 == "input" {
    split($2, size, "x")
    put("input", size[1], size[2], size[3])
    next
}
{
    split("", key)
    for (i = 3; i <= NF; i++)
        key[substr($i, 1, index($i, "=") - 1)] = substr($i, index($i, "=") + 1)
    n_inputs = split("from" in key ? key["from"] : previous, inputs, ",")
    c = channels[inputs[1]]
    h = height[inputs[1]]
    w = width[inputs[1]]
    previous = $2
}
$1 == "conv" {
    kernel = number("kernel", "")
    stride = number("stride", 1)
    pad = number("pad", 0)
    layer("conv", c, h, w, key["out"], kernel, stride, pad, number("groups", 1))
    put($2, key["out"], int((h + 2 * pad - kernel) / stride) + 1,
        int((w + 2 * pad - kernel) / stride) + 1)
    next
}
$1 == "fc" {
    layer("fc", c * h * w, 1, 1, key["out"], 1, 1, 0, 1)
    put($2, key["out"], 1, 1)
    next
}
$1 ~ /pool$/ && key["kernel"] == "global" {
    put($2, c, 1, 1)
    next
}
$1 ~ /pool$/ {
    put($2, c, pooled(h), pooled(w))
    next
}
$1 == "concat" {
    for (i = 2; i <= n_inputs; i++)
        c += channels[inputs[i]]
}
{ put($2, c, h, w) }

function put(name, c, h, w) {
    channels[name] = c
    height[name] = h
    width[name] = w
}

function layer(kind, c, h, w, out, kernel, stride, pad, groups) {
    print network, $2, kind, c, h, w, out, kernel, stride, pad, groups
}

function number(name, otherwise,    value) {
    value = name in key ? key[name] : otherwise
    if (value !~ /^[0-9]+$/) {
        print FILENAME ":" FNR ": " name " is not one number" > "/dev/stderr"
        exit 1
    }
    return value + 0
}

# Windows round up, but the last must begin inside.
function pooled(n,    kernel, stride, pad, windows) {
    kernel = number("kernel", "")
    stride = number("stride", 1)
    pad = number("pad", 0)
    if (key["round"] == "down")
        return int((n + 2 * pad - kernel) / stride) + 1
    windows = int((n + 2 * pad - kernel + stride - 1) / stride) + 1
    return (windows - 1) * stride >= n + pad ? windows - 1 : windows
}
