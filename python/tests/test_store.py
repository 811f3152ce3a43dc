"""Stores: profiles of the program and of the package are the same."""

import json
import sys
import threading

import pytest

import vbslab


@pytest.fixture
def store(tmp_path):
    with vbslab.Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_profiles_are_kept_found_and_deleted(store, modelled):
    number = store.save(modelled)
    assert store.save(modelled) == number
    store.tag(number, "mine")
    for word in (number, str(number), "mine", "lenet-5"):
        profile = store.load(word)
        assert profile == modelled and profile.id == number
    entry = store.entries()[0]
    assert (entry.id, entry.tags, entry.batches, entry.hash) == (number, ("mine",), "1,2,3,4", modelled.hash)
    assert entry.provenance.model == "lenet-5"
    assert profile.plan("1MiB").to_json().count(f'"profile": {number}') == 1
    assert vbslab.Profile("mine", store=store) == vbslab.Profile(number, store=store.path) == modelled
    store.untag("mine")
    with pytest.raises(vbslab.NotFoundError):
        store.load("mine")
    store.delete(number)
    assert store.entries() == []
    with pytest.raises(LookupError):
        store.load(number)


def test_measuring_into_a_store_is_that_of_the_program(store, network, program):
    profile = store.measure(network, backend="analytic", batches="1-3")
    program("--db", "other.sqlite", "--quiet", "measure", "lenet-5", "--backend", "analytic", "--batches", "1-3")
    own = [line for line in profile.to_csv().splitlines() if not line.startswith(("# vbslab:", "# date:"))]
    program("--db", "other.sqlite", "profiles", "export", "1", "other.csv")
    other = store._absolute.decode().replace("store.sqlite", "other.csv")
    with open(other) as file:
        assert own == [line for line in file.read().splitlines() if not line.startswith(("# vbslab:", "# date:"))]
    assert store.load("lenet-5").id == profile.id


def test_a_measured_profile_has_noise_for_comparisons(store, network):
    profile = store.measure(network, batches=[1], time_limit_s=0.5, copies=False)
    table = json.loads(profile.compare("1MiB", ["fbs", "dp-vbs+"], request=1).to_json())
    assert table["intervals"] == "rows"
    imported = vbslab.Profile.from_csv(profile.to_csv()).compare("1MiB", ["fbs"], request=1)
    assert json.loads(imported.to_json())["intervals"] == "rows"
    assert profile.provenance.backend == "onednn" and not profile.modelled


def test_what_a_progress_function_raises_ends_the_measurement(store, network):
    class Enough(Exception):
        pass

    def stop(done, left_s, text):
        raise Enough(text)

    with pytest.raises(Enough):
        store.measure(network, batches="1", time_limit_s=60, progress=stop)
    with pytest.raises(Enough):
        network.measure(time_limit_s=60, progress=stop)
    with pytest.raises(TypeError):
        network.measure(progress="bar")
    assert all(not entry.complete for entry in store.entries())


def test_a_store_is_not_used_by_the_function_that_it_calls(store, network):
    def again(done, left_s, text):
        store.entries()

    with pytest.raises(RuntimeError, match="in use"):
        store.measure(network, backend="analytic", batches="1", progress=again)
    assert store.entries() is not None


def test_stores_are_merged(store, modelled, tmp_path):
    with vbslab.Store(tmp_path / "other.sqlite") as other:
        other.save(modelled)
    assert store.merge(tmp_path / "other.sqlite") == []
    assert [entry.hash for entry in store.entries()] == [modelled.hash]


def test_another_thread_can_close_a_store(store):
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join()
    with pytest.raises(ValueError, match="closed"):
        store.entries()


def test_the_default_store_is_the_programs(monkeypatch, tmp_path, program, modelled):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VBSLAB_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with vbslab.Store() as store:
        number = store.save(modelled)
    assert str(number) in program("profiles")
    assert vbslab.Profile("lenet-5") == modelled
    monkeypatch.setenv("VBSLAB_DB", str(tmp_path / "named.sqlite"))
    assert vbslab.default_store() == str(tmp_path / "named.sqlite")


def test_a_store_as_a_table(store, modelled):
    pytest.importorskip("pandas")
    store.save(modelled)
    assert store.to_dataframe()["model"].tolist() == ["lenet-5"]
    assert "lenet-5" in store._repr_html_()
    assert sys.modules["pandas"]
