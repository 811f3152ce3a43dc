# The networks and the steps of memory; sourced by run and measure.
networks='googlenet resnet-50 squeezenet-v1.0 mobilenet-v1'
steps='exact 2MiB 512KiB 100KiB'

# The options of a step.
options_of() {
    echo --planner dp-vbs --request 12 --io resident
    [ "$1" = exact ] || echo --table "$1"
}
