"""Networks, profiles, tables, errors; who owns what."""

import csv
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import vbslab
from vbslab import errors, executor, network as network_module, profile as profile_module
from vbslab._convert import dtype_of
from vbslab._native import ffi, lib


def test_structs_have_the_sizes_that_the_compiler_gave_them():
    sizes = {}
    for name in ffi.list_types()[1]:
        if name.startswith("vbs_"):
            try:
                sizes[name] = ffi.sizeof(f"struct {name}")
            except ffi.error as error:
                assert "don't know the size" in str(error), error  # an opaque type
    assert len(sizes) > 80 and sizes["vbs_step"] > 0
    assert dtype_of("struct vbs_step").itemsize == sizes["vbs_step"]


def members(struct):
    return [name for name, _ in ffi.typeof(struct).fields]


def test_records_have_all_members_of_their_structs():
    assert executor._fields(vbslab.Run) == [
        m for m in members("struct vbs_exec_report") if m not in ("n_steps", "steps")
    ]
    assert list(vbslab.Placement._fields) == members("struct vbs_exec_placement")
    assert set(vbslab.Provenance._fields) == set(members("struct vbs_provenance"))
    assert set(vbslab.Copy._fields) == set(members("struct vbs_link"))
    assert list(vbslab.Speed._fields) == members("struct vbs_speed")
    assert set(members("struct vbs_profile_layer")) - set(vbslab.ProfileLayer._fields) == {"n_inputs", "channels"}
    assert list(vbslab.Reach._fields) == members("struct vbs_reach")


def test_every_status_has_a_class():
    names = {name[len("VBS_") :] for name in ffi.typeof("enum vbs_status").elements.values()}
    assert names - {"OK", "N_STATUS"} == set(errors._CLASSES)
    for status in range(1, lib.VBS_N_STATUS):
        made = errors.error_of(status, ffi.NULL)
        assert isinstance(made, vbslab.VbslabError) and str(made) and made.exit_code > 0


def test_errors_are_those_of_python_too(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        vbslab.Network(tmp_path / "none.onnx")
    assert caught.value.filename == str(tmp_path / "none.onnx") and "none.onnx" in str(caught.value)
    with pytest.raises(FileNotFoundError):
        vbslab.Profile(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError):
        vbslab.Schedule(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        vbslab.Store(tmp_path / "none.sqlite", mode="read")
    with pytest.raises(vbslab.MissingFileError) as missing:
        vbslab.Profile(tmp_path / "none.csv")
    assert "none.csv" in str(missing.value) and "None" not in str(missing.value)
    with pytest.raises(LookupError, match="did you mean 'alexnet'"):
        vbslab.Network("alexnett")
    (tmp_path / "bad.csv").write_text("layer,name\n")
    with pytest.raises(ValueError, match="bad.csv"):
        vbslab.Profile(tmp_path / "bad.csv")
    with pytest.raises(vbslab.FormatError):
        vbslab.Schedule.from_json("{")
    with pytest.raises(OSError):
        vbslab.Profile(tmp_path)  # a folder: no file of a profile
    for wrong in (lambda: vbslab.Network("a\0b"), lambda: vbslab.parse_bytes("1\0MB")):
        with pytest.raises(ValueError, match="zero byte"):
            wrong()
    with pytest.raises(TypeError, match="bool"):
        vbslab.parse_bytes(True)


def test_a_network_has_layers_outputs_and_values(network):
    assert (network.name, network.input_shape, network.n_layers) == ("lenet-5", (1, 28, 28), 7)
    assert network.outputs == (vbslab.Output("prob", 7, (10,)),)
    assert [layer.kind for layer in network.layers][:3] == ["conv", "maxpool", "conv"]
    assert sum(layer.weight_bytes for layer in network.layers) == 4 * network.n_parameters
    weights, bias = network.values(1), network.values(1, "bias")
    assert weights.dtype == np.float32 and weights.size + bias.size == network.layers[0].weight_bytes // 4
    assert np.isfinite(weights).all() and weights.std() > 0
    for wrong in ({"layer": 0}, {"layer": 8}, {"layer": 1, "what": "colour"}):
        with pytest.raises(ValueError):
            network.values(**wrong)


def test_a_network_is_written_as_onnx_and_read_again(network, tmp_path):
    network.to_onnx(tmp_path / "net.onnx")
    again = vbslab.Network(tmp_path / "net.onnx")
    assert again.hash == network.hash
    assert (again.values(1) == network.values(1)).all()


def test_other_inputs_and_texts():
    assert vbslab.Network("alexnet", input=(3, 300, 300)).input_shape == (3, 300, 300)
    assert vbslab.Network("alexnet", input="3x300x300").input_shape == (3, 300, 300)
    with pytest.raises(ValueError):
        vbslab.Network("alexnet", input=(3, 300))
    with pytest.raises(ValueError, match="line|:1"):
        vbslab.Network.from_text("nonsense")


def test_a_profile_goes_through_csv_and_pickle(modelled, tmp_path):
    modelled.to_csv(tmp_path / "profile.csv")
    for other in (
        vbslab.Profile(tmp_path / "profile.csv"),
        vbslab.Profile.from_csv(modelled.to_csv()),
        pickle.loads(pickle.dumps(modelled)),
    ):
        assert other == modelled and other.hash == modelled.hash and other.provenance == modelled.provenance
    assert modelled != "a profile" and len({modelled, pickle.loads(pickle.dumps(modelled))}) == 1


def test_rows_are_an_array_over_the_profiles_memory(modelled):
    rows = modelled.rows
    assert len(rows) == sum(not line.startswith("#") for line in modelled.to_csv().splitlines()) - 1
    assert not rows.flags.writeable and not rows.flags.owndata
    with pytest.raises(ValueError):
        rows["time_us"][0] = 1
    copy = vbslab.Profile.from_csv(modelled.to_csv())
    view, alive = copy.rows, weakref.ref(copy)
    copy.close()
    del copy
    gc.collect()
    assert alive() is None and (view == rows).all()


def assert_same(table, rows):
    """Checks that the rows of a CSV file have the values of a table, exactly, wherever both have the column."""
    assert len(table) == len(rows)
    shared = [column for column in rows[0] if column in table.columns]
    assert len(shared) >= min(len(table.columns), 16)
    for column in shared:
        for value, row in zip(table[column], rows):
            text = row[column]
            assert value == text if isinstance(value, str) else float(value) == float(text), column


def test_tables_are_those_of_the_files(modelled, network, tmp_path):
    pytest.importorskip("pandas")
    table = modelled.to_dataframe()
    lines = [line for line in modelled.to_csv().splitlines() if not line.startswith("#")]
    assert_same(table, list(csv.DictReader(lines)))
    assert table.attrs["hash"] == modelled.hash
    again = vbslab.Profile.from_csv(table[list(table.columns[:12])].to_csv(index=False))
    assert again.plan("1MiB").time_us == modelled.plan("1MiB").time_us
    plan = modelled.plan("100KiB")
    verdict = modelled.replay(plan)
    verdict.to_csv(tmp_path / "trace.csv")
    with open(tmp_path / "trace.csv") as file:
        assert_same(verdict.to_dataframe(), list(csv.DictReader(file)))
    curve = modelled.frontier()
    assert list(curve.to_dataframe().columns) == ["memory_bytes", "time_us", "per_sample_us", "samples_per_s"]
    assert len(curve.to_dataframe()) == len(curve) and len(plan.to_dataframe()) == plan.n_steps
    assert network.to_dataframe()["macs"].sum() == 2293000
    assert set(modelled.compare("1MiB").to_dataframe()["planner"]) >= {"fbs", "dp-vbs+"}


def test_pandas_is_imported_only_for_tables(modelled, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        modelled.to_dataframe()
    assert modelled.plan("1MiB").fits


def test_everything_can_be_shown(network, modelled):
    plan = modelled.plan("100KiB")
    shown = [network, modelled, plan, modelled.frontier(), modelled.replay(plan), modelled.compare("1MiB")]
    for item in shown:
        assert repr(item).startswith("<") and "<table>" in item._repr_html_()
    assert "<table>" in modelled.replay(plan, trace=False)._repr_html_()
    assert [backend.usable for backend in vbslab.backends() if backend.name == "analytic"] == [True]


def test_html_is_escaped():
    line = "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place"
    text = f"# model: <b>\n{line}\n1,<i>,conv,0,1,default,4,1,1,1,0,0\n"
    shown = vbslab.Profile.from_csv(text)._repr_html_()
    assert "<b>" not in shown and "<i>" not in shown and "&lt;i&gt;" in shown


def closing(modelled, network):
    copy = vbslab.Profile.from_csv(modelled.to_csv())
    yield copy, lambda: copy.plan("1MiB")
    plan = modelled.plan("1MiB")
    yield plan, plan.to_json
    solver = modelled.solver()
    yield solver, lambda: solver.plan("1MiB")
    curve = modelled.frontier()
    yield curve, lambda: curve.points
    verdict = modelled.replay(plan_of(modelled))
    yield verdict, lambda: verdict.steps
    comparison = modelled.compare("1MiB")
    yield comparison, comparison.to_json
    other = vbslab.Network("lenet-5")
    yield other, lambda: other.layers


def plan_of(profile):
    return profile.plan("1MiB")


def test_what_is_closed_is_refused(modelled, network):
    for item, use in closing(modelled, network):
        use()
        with item as same:
            assert same is item
        assert item.closed and "closed" in repr(item)
        item.close()
        with pytest.raises(vbslab.ClosedError, match=f"the {item._kind} is closed"):
            use()
        with pytest.raises(ValueError):
            item.__enter__()


def test_what_is_borrowed_outlives_its_owner(modelled):
    profile = vbslab.Profile.from_csv(modelled.to_csv())
    solver = profile.solver("optimal", request=4)
    verdict = profile.replay(profile.plan("1MiB"))
    profile.close()
    del profile
    gc.collect()
    assert solver.plan("1MiB").fits and len(solver.frontier()) > 0
    assert verdict.fits
    solver.close()


def test_objects_are_freed_once(monkeypatch, modelled):
    """Counts what is made and freed, as cffi calls the destructors."""
    freed = []

    def counted(name):
        original = getattr(lib, name)
        return lambda c: (freed.append(name), original(c))[1]

    real_gc = ffi.gc

    class Counting:
        def __getattr__(self, name):
            return getattr(ffi, name)

        @staticmethod
        def gc(c, destructor):
            names = {getattr(lib, n): n for n in ("vbs_profile_free", "vbs_schedule_free", "vbs_solver_free")}
            return real_gc(c, counted(names[destructor]) if destructor in names else destructor)

    from vbslab import plan as plan_module

    monkeypatch.setattr(plan_module, "ffi", Counting())
    monkeypatch.setattr(profile_module, "ffi", Counting())
    profile = vbslab.Profile.from_csv(modelled.to_csv())
    solver = profile.solver()
    plan = solver.plan("1MiB")
    profile.close(), profile.close()
    assert freed == []
    plan.close(), plan.close()
    assert freed == ["vbs_schedule_free"]
    solver.close(), solver.close()
    del solver, profile, plan
    gc.collect()
    assert freed == ["vbs_schedule_free", "vbs_solver_free", "vbs_profile_free"]


def test_threads_share_profiles_and_wait_for_solvers(alexnet):
    expected = {size: alexnet.plan(f"{size}MiB").to_json() for size in range(4, 10)}
    found, wrong = {}, []
    shared = alexnet.solver()

    def work(size):
        try:
            found[size] = alexnet.plan(f"{size}MiB").to_json()
            assert shared.plan(f"{size}MiB").memory_bytes == size * 2**20
            with pytest.raises(vbslab.InfeasibleError, match=f"fits {size} B;"):
                alexnet.plan(size)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(size,)) for size in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and found == expected


def test_sizes():
    assert vbslab.parse_bytes(5) == 5 and vbslab.parse_bytes("1.5GiB") == 3 * 2**29
    for wrong in ("", "MiB", "-1", "1e400MB", -1, 2**63):
        with pytest.raises(ValueError):
            vbslab.parse_bytes(wrong)
    for wrong in (1.0, None, b"1", True and 1.5):
        with pytest.raises(TypeError):
            vbslab.parse_bytes(wrong)


def test_batches_begin_with_1(network):
    with pytest.raises(ValueError, match="lack 1"):
        network.measure(backend="analytic", batches="2-4")
    with pytest.raises(ValueError):
        network.measure(backend="analytic", batches=[])
    assert network.measure(backend="analytic", batches=[4, 1, 4]).batches == (1, 4)
    assert network_module.SHOWN_ROWS > 0


def test_unfinished_files_of_killed_processes_are_told(modelled, tmp_path):
    part = tmp_path / "sub" / "out.csv.999999999-0.part"  # of an id above those of all processes
    told = []

    def write():  # in a thread of its own, which has a context of its own
        for path in tmp_path / "out.csv", tmp_path / "sub" / "out.csv":
            modelled.to_csv(path)
            told.append(vbslab.leftover())

    part.parent.mkdir()
    part.write_text("x")
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert told[0] is None and "can be removed" in told[1] and str(part) in told[1]
    assert part.exists()
