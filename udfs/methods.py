"""The clustering methods by name: where the rest of the package finds them."""

from __future__ import annotations

from sqlanon.udfs.method import Method

from sqlanon.udfs import auto, bisecting, kaca, kacpc, peel, sequential, wfcmeans

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        auto.METHOD,
        peel.METHOD,
        kaca.METHOD,
        kacpc.METHOD,
        bisecting.METHOD,
        sequential.METHOD,
        wfcmeans.METHOD,
    )
}
