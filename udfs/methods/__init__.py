"""The clustering methods by name: where the rest of the package finds them."""

from __future__ import annotations

from sqlanon.udfs.method import Method
from sqlanon.udfs.methods import (
    agglomerative,
    anatomy,
    auto,
    bisecting,
    datafly,
    gaacp,
    hilbert,
    ikac,
    incognito,
    kaca,
    kacpc,
    kmember,
    linkage,
    mdav,
    mondrian,
    nonhomogeneous,
    oka,
    peel,
    sequential,
    topdown,
    wfcmeans,
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        auto.METHOD,
        peel.METHOD,
        kaca.METHOD,
        kacpc.METHOD,
        kmember.METHOD,
        gaacp.METHOD,
        ikac.METHOD,
        oka.METHOD,
        mdav.METHOD,
        bisecting.METHOD,
        topdown.METHOD,
        mondrian.METHOD,
        hilbert.METHOD,
        sequential.METHOD,
        agglomerative.METHOD,
        wfcmeans.METHOD,
        linkage.METHOD,
        incognito.METHOD,
        datafly.METHOD,
        nonhomogeneous.METHOD,
        anatomy.METHOD,
    )
}
