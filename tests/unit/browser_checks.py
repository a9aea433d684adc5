"""What is measured of a page in a browser."""


def text_sizes(page):
    """[text] (size in pixels as shown, text) of all visible and hidden texts of a page."""
    return page.evaluate(
        """() => [...document.querySelectorAll("body *")]
            .filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()))
            .filter((node) => !["SCRIPT", "STYLE", "NOSCRIPT", "TITLE", "OPTION"].includes(node.tagName.toUpperCase()))
            .map((node) => {
              const box = node.ownerSVGElement && node.getScreenCTM();
              // An SVG that is shown smaller than it was drawn has smaller text.
              const scale = box ? Math.hypot(box.a, box.b) : 1;
              return [parseFloat(getComputedStyle(node).fontSize) * scale, node.textContent.trim()];
            })"""
    )


def stops_of_the_tab_key(page, most=120):
    """[stop] (its id or that of the part it is in, its label or text, whether it is outlined), once round the page."""
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    stops = []
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            """() => {
              const node = document.activeElement;
              const place = node.id || node.closest("[id]")?.id || "";
              return [place, node.getAttribute("aria-label") || node.textContent.trim().slice(0, 40),
                      getComputedStyle(node).outlineStyle !== "none"];
            }"""
        )
        if page.evaluate("document.activeElement === document.body"):
            break
        stops.append(tuple(stop))
    return stops
