"""What columns are called that tell who somebody is, in the languages of Europe, and what they are called that do not.

A guess by names: it knows English, German, French, Spanish, Portuguese, Italian, Dutch, the Nordic languages, Polish,
Czech and Finnish, without their accents.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_PERSON = (
    r"patient|person|customer|client|kunde|employee|student|member|user|subject|insured|versicherten?|resident|donor"
)
_NUMBER = r"ids?|keys?|uuid|n(o|r|umber|ummer|um)"
IDENTIFIES = {
    "a person's name": rf"(first|last|middle|given|maiden|full|family|nick|{_PERSON})_?names?|surnames?|forenames?"
    r"|initials|(vor|nach|familien|ruf|geburts|zu)name|nom|prenoms?|nom_de_famille|apellidos?|nombres?|sobrenome|apelido"
    r"|cognome|(voor|achter)naam|naam|fornamn|efternamn|etternavn|fornavn|efternavn|imie|nazwisko|jmeno|prijmeni"
    r"|(etu|suku)nimi|next_of_kin|emergency_contact|twitter|instagram|facebook",
    "an e-mail address": r"e_?mails?|mails?|courriel|correo(_electronico)?|(e_?)?posta|e_?post",
    "a telephone number": r"(tele)?phones?(_?n(o|umber|ummer))?|mobile|cell|fax|tel|telefon(e|o|nummer|i)?|handy|mobil"
    r"|movil|celular|puhelin",
    "an address": r"street|addr(ess(es)?)?|house_?n(o|umber)|strasse|anschrift|adresse?|hausnummer|rue|direccion|calle"
    r"|endereco|rua|indirizzo|straat|adres|gata|gade|ulica|osoite|katu",
    "a document number": r"ssn|social_security|passport|iban|bic|credit_card|card_n(o|umber)|account_n(o|umber)"
    r"|tax_?(id|n(o|umber))|licen[cs]e|nhs|mrn|medical_record|insurance_?(id|n(o|umber))|vin|number_plate|reisepass"
    r"|ausweis|personalausweis|kvnr|versicherten_?n(r|ummer)|sozialversicherungs_?n(r|ummer)|svnr|steuer_?(id|nummer)"
    r"|kennzeichen|passeport|nir|numero_securite_sociale|secu|dni|nie|nif|cpf|pasaporte|codice_fiscale|bsn|paspoort"
    r"|personnummer|cpr|fodselsnummer|pesel|rodne_cislo|hetu|henkilotunnus",
    "a person's number": rf"({_PERSON}|patienten|patiente|paciente|paziente|case|fall)_?({_NUMBER})",
    "a network address": r"ip|ip_?addr(ess)?|mac|url|login|cookie|imei",
    "free text": r"notes?|comments?|remarks?|free_?text|notizen?|bemerkung(en)?|kommentare?|anmerkung(en)?|freitext"
    r"|remarques?|commentaires?|observaciones|comentarios?|osservazioni|opmerking(en)?|anteckning(ar)?|uwagi",
    "a picture of a person": r"photo|image|fingerprint|signature|foto|unterschrift",
}
"""What a name says that identifies somebody, and how it is written."""
KEYS = (
    r"ids?|keys?|uuid|guid|names?|account|card|user|device|n(o|umber)(?!_of)|nummer|nr|numero|schluessel|konto|compte"
)
"""The key of something, or the name of something: perhaps a person."""


def matches(pattern: str, column: str) -> bool:
    """Is the pattern one or several words of the column's name, written_so or writtenSo, with or without accents?"""
    plain = column.replace("ß", "ss").replace("ø", "o").replace("ł", "l").replace("Ł", "L")
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain)
    words = re.sub(r"[^a-z0-9]+", "_", words.lower())
    return re.search(rf"(?:^|_)(?:{pattern})(?:_|$)", words) is not None


@lru_cache(maxsize=4096)
def suggests(column: str) -> str | None:
    """What identifies somebody, if the column is called so: `an e-mail address`."""
    if column.strip().lower() in ("name", "names"):
        return "a person's name"
    return next((what for what, pattern in IDENTIFIES.items() if matches(pattern, column)), None)
