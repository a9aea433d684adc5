"""What stands in the table of an HTML page."""

import re


def cells(page: str) -> list[list[str]]:
    """The body of the page's table, as it stands in the source: rows of cells."""
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.S) for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.S)]
