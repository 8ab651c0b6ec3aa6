"""Names of features in text: as they are, or between double quotes where they hold what separates names.

``"price, net"=5; integer: "a; b"``. Inside quotes a quote is written twice, as in CSV files. A quote that is not the
first letter of a name is a letter like others.
"""

from __future__ import annotations

SEPARATORS = ",;="


def parts_of(text: str, separator: str) -> list[str]:
    """Divide a text at a separator, but not between quotes; parts come without blanks around them."""
    parts, start, k, is_quoted = [], 0, 0, False
    while k < len(text):
        if is_quoted:
            if text[k : k + 2] == '""':
                k += 1
            elif text[k] == '"':
                is_quoted = False
        elif text[k] == '"':
            before = text[:k].rstrip()
            is_quoted = not before or before[-1] in SEPARATORS + ":"
        elif text[k] == separator:
            parts.append(text[start:k].strip())
            start = k + 1
        k += 1
    return [*parts, text[start:].strip()]


def unquoted(name: str) -> str:
    """Return a name without its quotes, if it has any."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    inside = name[1:-1]
    return inside.replace('""', '"') if '"' not in inside.replace('""', "") else name


def quoted(name: str) -> str:
    """Return a name as it can stand in a text, in quotes if it must."""
    needs = name != name.strip() or any(mark in name for mark in SEPARATORS + '"')
    return '"' + name.replace('"', '""') + '"' if needs else name
