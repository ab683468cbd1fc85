"""The clustering methods by name: where the rest of the package finds them."""

from __future__ import annotations

from sqlanon.udfs.method import Method

from sqlanon.udfs import bisecting, kaca, kacpc, sequential, wfcmeans

METHODS: dict[str, Method] = {
    method.name: method for method in (kaca.METHOD, kacpc.METHOD, bisecting.METHOD, sequential.METHOD, wfcmeans.METHOD)
}
