"""Trees as C functions, for C99 and whatever came after it."""

from __future__ import annotations

import re

from hardwood.errors import InvalidInputError
from hardwood.export.code import (
    category_test,
    check_depth,
    column_names,
    column_of,
    labels_of,
    missing_goes_left,
    n_columns,
    nested_lines,
)
from hardwood.plain_data import Label
from hardwood.tree.tree import Tree

_LONGEST_LITERAL = 4095
"""What every C99 compiler takes."""

_KEYWORDS = """
alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false float
for fortran goto if inline int long nullptr register restrict return short signed sizeof static static_assert struct
switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while
"""
# Names that the standard library or compilers keep for themselves; a function of that name clashes with theirs.
_TAKEN = """
main assert errno stdin stdout stderr offsetof va_arg va_copy va_end va_start setjmp linux unix i386 index rindex
isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper
acos acosf acosl acosh acoshf acoshl asin asinf asinl asinh asinhf asinhl atan atanf atanl atan2 atan2f atan2l atanh
atanhf atanhl cbrt cbrtf cbrtl ceil ceilf ceill copysign copysignf copysignl cos cosf cosl cosh coshf coshl erf erff
erfl erfc erfcf erfcl exp expf expl exp2 exp2f exp2l expm1 expm1f expm1l fabs fabsf fabsl fdim fdimf fdiml floor
floorf floorl fma fmaf fmal fmax fmaxf fmaxl fmin fminf fminl fmod fmodf fmodl frexp frexpf frexpl hypot hypotf
hypotl ilogb ilogbf ilogbl ldexp ldexpf ldexpl lgamma lgammaf lgammal llrint llrintf llrintl llround llroundf
llroundl log logf logl log10 log10f log10l log1p log1pf log1pl log2 log2f log2l logb logbf logbl lrint lrintf lrintl
lround lroundf lroundl modf modff modfl nan nanf nanl nearbyint nearbyintf nearbyintl nextafter nextafterf nextafterl
nexttoward nexttowardf nexttowardl pow powf powl remainder remainderf remainderl remquo remquof remquol rint rintf
rintl round roundf roundl scalbln scalblnf scalblnl scalbn scalbnf scalbnl sin sinf sinl sinh sinhf sinhl sqrt sqrtf
sqrtl tan tanf tanl tanh tanhf tanhl tgamma tgammaf tgammal trunc truncf truncl isfinite isinf isnan isnormal signbit
fpclassify isgreater isgreaterequal isless islessequal islessgreater isunordered gamma gammaf gammal j0 j1 jn y0 y1 yn
signal raise clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf
fseek fsetpos ftell fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf
snprintf sprintf sscanf tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf abort abs
atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen mbstowcs mbtowc
qsort rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb alloca memchr
memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy
strpbrk strrchr strspn strstr strtok strxfrm strdup strndup asctime clock ctime difftime gmtime localtime mktime
strftime time bcmp bcopy bzero ffs ffsl ffsll fork execl execv execle execve execlp execvp toascii isascii stpcpy
stpncpy strcasecmp strncasecmp mempcpy dcgettext dgettext gettext strfmon printf_unlocked puts_unlocked
"""
_REFUSED = frozenset((_KEYWORDS + _TAKEN).split())


def to_c(tree: Tree, name: str = "predict") -> str:
    """Return a C function ``int name(const double *x)`` that returns the index of the class.

    The labels follow as an array ``name_classes``, in UTF-8. A category is given as its number in the list that stands
    in the comment, -1 for one that is not in it and NaN for a missing one.
    """
    check_c_name(name)
    check_depth(tree, "C")
    lines = ["/*", f" * Returns the index of the class of one sample; x holds {c_columns(tree)}.", *c_categories(tree)]
    lines += [" */", *c_classes(labels_of(tree), name), "", f"int {name}(const double *x)", "{"]

    if tree.n_nodes == 1:
        lines.append("    (void)x;")
    lines += nested_lines(
        tree,
        lambda node: f"if ({c_condition(tree, node)}) {{",
        "} else {",
        "}",
        lambda leaf: f"return {int(tree.label[leaf])};",
    )
    return "\n".join([*lines, "}"]) + "\n"


def check_c_name(name: str) -> None:
    """Refuse what no C function can be called."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in _REFUSED or re.match(r"_[A-Z_]", name):
        raise InvalidInputError(
            f"name={name!r} is not a name that a C function can have: letters, digits and _, no word of the language "
            "or its library"
        )


def c_categories(tree: Tree) -> list[str]:
    """Return lines of a comment that number the categories of each column."""
    lines = []
    for j, categories in enumerate(() if tree.encoding is None else tree.encoding.categories):
        if categories is not None:
            listed = ", ".join(f"{number} {_in_comment(str(one))}" for number, one in enumerate(categories))
            lines.append(f" * x[{j}] is the number of a category: {listed}.")
    return lines


def c_condition(tree: Tree, node: int) -> str:
    """Return the question of a split."""
    x, test = f"x[{column_of(tree, node)}]", category_test(tree, node)
    if test is not None:
        assert tree.encoding is not None
        categories = tree.encoding.categories[test[0]]
        assert categories is not None
        missing = f" || {x} != {x}" if missing_goes_left(tree, node) else ""
        return f"{x} == {categories.index(test[1])}{missing}"
    b = repr(float(tree.threshold[node]))
    return f"!({x} > {b})" if missing_goes_left(tree, node) else f"{x} <= {b}"


def c_columns(tree: Tree) -> str:
    """Return what the argument holds, for a comment."""
    names = column_names(tree)
    return f"{n_columns(tree)} numbers" if names is None else ", ".join(map(_in_comment, names))


def c_classes(labels: list[Label], name: str) -> list[str]:
    """Return the array of labels; those that are too long for a literal stand in arrays of their own."""
    lines, listed = [], []
    for k, label in enumerate(labels):
        data = str(label).encode("utf-8")
        if b"\0" in data:
            raise InvalidInputError(f"the label {label!r} holds NUL, which ends a text in C")
        if len(data) > _LONGEST_LITERAL:
            lines.append(
                f"static const char {name}_class_{k}[] = {{{', '.join(_character(byte) for byte in data)}, 0}};"
            )
            listed.append(f"{name}_class_{k}")
        else:
            listed.append(f'"{_literal(data)}"')
    return [*lines, f"const char *const {name}_classes[] = {{{', '.join(listed)}}};"]


def _character(byte: int) -> str:
    # char may be signed, and a number beyond its range is a warning.
    return f"'\\{byte:03o}'"


def _literal(data: bytes) -> str:
    """Write bytes inside a string literal.

    Three octal digits end by themselves, where a hexadecimal escape would swallow letters that follow. A question mark
    is escaped because two of them begin a trigraph, by which ISO C smuggles in backslashes and braces.
    """
    return "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in data)


def _in_comment(text: str) -> str:
    """Write a name inside a comment, where neither an end, a beginning nor a line's end may come of it."""
    shown = "".join(
        letter if letter.isprintable() and letter not in '"\\?*' else _literal(letter.encode("utf-8", "replace"))
        for letter in text
    )
    return '"' + shown.replace("*", "\\052") + '"'
