"use strict";
(async () => {
  const find = (id) => document.getElementById(id);
  if (!("DecompressionStream" in window)) {
    find("too-old").hidden = false;
    return;
  }
  const unpacked = (id) => {
    const packed = Uint8Array.from(atob(find(id).textContent), (character) => character.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  };
  const all = await unpacked("data").json();
  // The run's model first; what the page shows is of the model in `data`.
  const models = [all, ...all.others];
  let data, places, byName, there;
  const useModel = (index) => {
    data = { ...models[index], ramps: all.ramps };
    places = data.layers * data.heads;
    byName = new Map(data.measures.map((measure) => [measure.measure, measure]));
    there = data.measures.filter((measure) => !measure.note);
  };
  useModel(0);
  // Okabe and Ito's colours: told apart under the common kinds of colour blindness.
  const NAMES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#8a8a8a"];
  const NO_NAME = "#e6e6e6";
  const state = { model: 0, measure: "", head: 0, sentence: 0 };
  const chooseMeasures = () => {
    if (!there.some((measure) => measure.measure === state.measure)) state.measure = there[0].measure;
  };
  chooseMeasures();

  const element = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const svgElement = (name, attributes = {}, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const labelIn = (heads, index) => `layer ${Math.floor(index / heads) + 1}, head ${(index % heads) + 1}`;
  const label = (index) => labelIn(data.heads, index);
  const shown = (value) => (value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(4))) : value);
  const short = (value) => {
    if (value === null) return "";
    if (typeof value !== "number") return value.split("_").map((part) => part.slice(0, 2)).join("·");
    if (Math.abs(value) < 0.0005) return "0";
    const text = Math.abs(value) >= 10 ? value.toFixed(0) : Math.abs(value) < 0.01 ? value.toFixed(3) : value.toPrecision(2);
    return text.replace(/^(-?)0\./, "$1.");
  };
  const examples = (measure) => (measure.n === "" ? "–" : `${measure.n} ${measure.n_unit}`);
  // What a measure is compared with: the range of its null distribution, or the value of a head without the effect.
  const nullOf = (measure, index) => {
    const [low, high, q] = (data.null[measure.measure] || []).map((values) => values[index]);
    if (low !== undefined && low !== null) return { low, high, q };
    return measure.chance === "" ? null : { low: measure.chance, high: measure.chance, q: q ?? null };
  };
  const isInside = (name, index) => Boolean(data.inside[name]?.[index]);
  const nullWords = (measure, index) => {
    const range = nullOf(measure, index);
    if (!range) return measure.calibration;
    if (!measure.null) return `value of a head without the effect: ${shown(range.low)}${range.q === null ? "" : `; q = ${shown(range.q)}`}`;
    return `95 % of ${measure.null}: ${shown(range.low)} to ${shown(range.high)}; ${range.q === null ? "q not known" : `q = ${shown(range.q)}`}`;
  };
  // Accuracy on "the head's first relation" names that relation.
  const titleOf = (measure, index = state.head) => {
    const about = measure.about && data.values[measure.about]?.[index];
    return about && about !== "none" ? `${measure.title}: ${about.replaceAll("_", " ")}` : measure.title;
  };
  const unit = (measure) => (measure.unit ? ` (${measure.unit})` : "");

  // --- colours ---------------------------------------------------------------------------------------------------------
  const scales = new Map();
  const scaleOf = (name) => {
    if (scales.has(name)) return scales.get(name);
    const values = data.values[name].filter((value) => value !== null);
    let scale;
    if (byName.get(name).kind === "name") {
      const kinds = [...new Set(values)].sort();
      const named = kinds.filter((kind) => kind !== "none");
      scale = { kinds, colour: (value) => (value === "none" ? NO_NAME : NAMES[named.indexOf(value) % NAMES.length]) };
    } else {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const signed = low < 0 && high > 0;
      const far = Math.max(-low, high);
      const steps = data.ramps[signed ? "signed" : "plain"];
      const ramp = (share) => steps[Math.round(share * (steps.length - 1))];
      const share = (value) => (signed ? (value / far + 1) / 2 : high > low ? (value - low) / (high - low) : 0.5);
      scale = { low: signed ? -far : low, high: signed ? far : high, ramp, colour: (value) => ramp(share(value)) };
    }
    scales.set(name, scale);
    return scale;
  };
  // Black or white, whichever stands out more: relative luminance as WCAG 2 defines it.
  const inkOn = (colour) => {
    const [r, g, b] = [1, 3, 5].map((k) => {
      const part = parseInt(colour.slice(k, k + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000000" : "#ffffff";
  };

  // --- the grid --------------------------------------------------------------------------------------------------------
  const buttons = [];
  const buildGrid = () => {
    buttons.length = 0;
    find("grid").replaceChildren();
    const top = element("tr", { role: "row" });
    top.append(element("th", { scope: "col" }, "Layer \\ head"));
    for (let head = 1; head <= data.heads; head++) top.append(element("th", { scope: "col", role: "columnheader" }, head));
    find("grid").append(top);
    for (let layer = 0; layer < data.layers; layer++) {
      const row = element("tr", { role: "row" });
      row.append(element("th", { scope: "row", role: "rowheader" }, layer + 1));
      for (let head = 0; head < data.heads; head++) {
        const index = layer * data.heads + head;
        const button = element("button", { type: "button", tabindex: index ? "-1" : "0", "data-index": index });
        button.addEventListener("click", () => choose(index));
        buttons.push(button);
        const cell = element("td", { role: "gridcell" });
        cell.append(button);
        row.append(cell);
      }
      find("grid").append(row);
    }
  };
  const paintGrid = () => {
    const measure = byName.get(state.measure);
    const scale = scaleOf(state.measure);
    buttons.forEach((button, index) => {
      const value = data.values[state.measure][index];
      const grey = find("grey").checked && isInside(state.measure, index);
      const colour = value === null || grey ? "" : scale.colour(value);
      button.classList.toggle("inside", grey);
      button.style.background = colour;
      button.style.color = colour ? inkOn(colour) : "";
      button.textContent = short(value);
      const like = isInside(state.measure, index) ? ", not distinguished from the null distribution" : "";
      button.setAttribute("aria-label", `${label(index)}: ${titleOf(measure, index)} ${value === null ? "not measured" : shown(value)}${like}`);
      button.setAttribute("aria-pressed", String(index === state.head));
    });
    const said = [`${measure.title}${unit(measure)}. ${measure.study}, ${measure.item}; model: ${measure.model}.`];
    if (measure.higher_means) said.push(`Higher: ${measure.higher_means}.`);
    if (measure.n !== "") said.push(`n: ${examples(measure)}.`);
    if (nullOf(measure, state.head)) {
      const range = nullOf(measure, state.head);
      const from = measure.null ? `Null distribution: ${measure.null}, 95 % of them from ${shown(range.low)} to ${shown(range.high)}.` : `A head without the effect has ${shown(range.low)}.`;
      const told = measure.inside_null === "" ? "" : ` ${measure.inside_null} of ${measure.heads} heads cannot be distinguished from it (${data.null[measure.measure] ? "q of 0.05 or more" : "their interval contains it"}).`;
      said.push(from + told);
    } else said.push(measure.calibration);
    if (measure.warning) said.push(`Warning: ${measure.warning}`);
    find("measure-note").textContent = said.join(" ");
    find("grey-part").hidden = !data.inside[state.measure];
    const legend = find("legend");
    legend.replaceChildren();
    if (scale.kinds) {
      for (const kind of scale.kinds) {
        const item = element("span");
        item.append(element("span", { class: "key", style: `background: ${scale.colour(kind)}` }), kind.replaceAll("_", " "));
        legend.append(item);
      }
    } else {
      const stops = Array.from({ length: 11 }, (_, k) => scale.ramp(k / 10)).join(", ");
      legend.append(shown(scale.low), element("span", { class: "ramp", style: `background: linear-gradient(90deg, ${stops})` }), shown(scale.high));
    }
    if (find("grey").checked && data.inside[state.measure]?.some(Boolean)) {
      const item = element("span");
      item.append(element("span", { class: "key inside" }), "not distinguished from the null distribution");
      legend.append(item);
    }
  };

  // --- the ranking of heads --------------------------------------------------------------------------------------------
  const RANKED = 10;
  let allRanked = false;
  const RELATION = "relation:";
  const intervalOf = (measure, index) => {
    const ends = (data.intervals[measure.measure] || []).map((values) => values[index]);
    return !ends.length || ends.includes(null) ? [] : ends;
  };
  const rankedByMeasure = (measure) => {
    const values = data.values[measure.measure];
    return values
      .map((value, index) => ({ index, value, ends: intervalOf(measure, index), inside: isInside(measure.measure, index) }))
      .filter((row) => row.value !== null)
      .sort((a, b) => b.value - a.value || a.index - b.index);
  };
  const rankedByRelation = (name) => {
    const rows = [];
    data.relations.forEach((relations, index) => {
      for (const row of relations) {
        if (row.relation === name) rows.push({ index, value: row.margin, ends: [row.low, row.high], inside: false });
      }
    });
    return rows.sort((a, b) => b.value - a.value || a.index - b.index);
  };
  const fillRanking = () => {
    const chosen = find("rank-by").value;
    const byRelation = chosen.startsWith(RELATION);
    const measure = byRelation ? null : byName.get(chosen);
    const rows = byRelation ? rankedByRelation(chosen.slice(RELATION.length)) : rankedByMeasure(measure);
    const listed = allRanked ? rows : rows.slice(0, RANKED);
    const shownRows = listed.length < rows.length ? `; the first ${listed.length} are listed` : "";
    find("ranking-note").textContent = byRelation
      ? `Heads that follow the relation better than the best fixed offset (q < 0.05), by their margin over it, a share of words. ${rows.length} of ${places} heads${shownRows}.`
      : `Largest values first; ${rows.length} of ${places} heads have a value${shownRows}. ${measure.higher_means ? `Higher: ${measure.higher_means}.` : ""}`;
    const more = find("ranking-all");
    more.hidden = rows.length <= RANKED;
    more.textContent = allRanked ? `List the first ${RANKED} heads` : `List all ${rows.length} heads`;
    // "The head's first relation" is named for each head.
    const abouts = (measure && measure.about && data.values[measure.about]) || [];
    find("ranking").tBodies[0].replaceChildren(
      ...listed.map((row, place) => {
        const line = element("tr", row.inside ? { class: "inside" } : {});
        const head = element("td");
        head.append(link(row.index, state.model, label(row.index)));
        const about = abouts[row.index] && abouts[row.index] !== "none" ? `${abouts[row.index].replaceAll("_", " ")}: ` : "";
        line.append(element("td", {}, place + 1), head, element("td", {}, about + shown(row.value) + (row.ends.length ? ` [${row.ends.map(shown).join(", ")}]` : "")));
        line.append(element("td", {}, row.inside ? "inside" : byRelation || data.inside[measure.measure] ? "outside" : "–"));
        return line;
      }),
    );
  };

  // --- figures ---------------------------------------------------------------------------------------------------------
  // Text and axes have the colour of the text around them, so that figures fit the dark theme and paper as they are.
  const text = (x, y, words, attributes = {}) => svgElement("text", { x, y, ...attributes }, String(words));
  const titled = (mark, title) => {
    mark.append(svgElement("title", {}, title));
    return mark;
  };

  // --- the card --------------------------------------------------------------------------------------------------------
  const weightsOf = (sentence, head) => {
    if (!sentence.weights) {
      const text = atob(sentence.data);
      sentence.weights = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
    }
    const size = sentence.tokens.length ** 2;
    return sentence.weights.subarray(head * size, (head + 1) * size);
  };
  // Tokens on two sides with a line for each weight; a token that is pointed at, tapped or focused shows its lines alone.
  const [LEAST_WEIGHT, LINE_STEP, TOKEN_SPACE, PARTNERS] = [0.02, 20, 96, 5];
  let pinned = null;
  const drawLines = (sentence, weights) => {
    const { tokens } = sentence;
    const n = tokens.length;
    const width = Math.max(Math.min(find("lines").clientWidth, 380), 260);
    const [left, right] = [TOKEN_SPACE, width - TOKEN_SPACE];
    const y = (place) => LINE_STEP * (place + 0.5) + 4;
    const svg = svgElement("svg", { width, height: LINE_STEP * n + 8, role: "group", "aria-label": `Attention of ${label(state.head)}: tokens that attend on the left, those that are attended to on the right` });
    const lines = [];
    for (let from = 0; from < n; from++) {
      for (let to = 0; to < n; to++) {
        const weight = weights[from * n + to] / 255;
        if (weight < LEAST_WEIGHT) continue;
        const line = svgElement("line", { x1: left, x2: right, y1: y(from), y2: y(to), class: "arc", style: `stroke-opacity: ${0.05 + 0.95 * weight}` });
        line.append(svgElement("title", {}, `${tokens[from]} → ${tokens[to]} ${weight.toFixed(3)}`));
        lines.push({ from, to, weight, line });
        svg.append(line);
      }
    }
    const names = [];
    const show = (side, place) => {
      const chosen = place === null ? [] : lines.filter((line) => line[side] === place);
      const far = side === "from" ? "to" : "from";
      for (const line of lines) line.line.classList.toggle("faint", place !== null && !chosen.includes(line));
      const strong = new Map(chosen.map((line) => [line[far], line.weight]));
      for (const name of names) {
        const isIt = name.side === side && name.place === place;
        name.text.classList.toggle("linked", place !== null && (isIt || (name.side === far && (strong.get(name.place) || 0) >= 0.1)));
        name.text.classList.toggle("faint", place !== null && !isIt && !(name.side === far && strong.has(name.place)));
      }
      const partners = [...chosen].sort((one, two) => two.weight - one.weight).slice(0, PARTNERS).map((line) => `${tokens[line[far]]} ${line.weight.toFixed(2)}`);
      find("linked").textContent = place === null ? "Point at a token, or tap it, to see its lines alone." : `${tokens[place]} ${side === "from" ? "attends to" : "is attended to by"}: ${partners.join("; ") || "nothing above 0.02"}.`;
    };
    const unpin = () => {
      pinned = null;
      for (const name of names) name.text.setAttribute("aria-pressed", "false");
      show("from", null);
    };
    const restore = () => (pinned ? show(pinned.side, pinned.place) : show("from", null));
    const focusOn = (side, place) => {
      for (const name of names) name.text.setAttribute("tabindex", name.side === side && name.place === place ? "0" : "-1");
      names.find((name) => name.side === side && name.place === place).text.focus();
    };
    for (const [side, x, anchor] of [["from", left - 6, "end"], ["to", right + 6, "start"]]) {
      tokens.forEach((token, place) => {
        const text = svgElement("text", { x, y: y(place) + 4, "text-anchor": anchor, role: "button", tabindex: side === "from" && place === 0 ? "0" : "-1", class: "token", "aria-pressed": "false", "aria-label": `${token}, token ${place + 1}, ${side === "from" ? "attends" : "is attended to"}` }, token.length > 13 ? `${token.slice(0, 12)}…` : token);
        const pin = () => {
          const same = pinned && pinned.side === side && pinned.place === place;
          pinned = same ? null : { side, place };
          for (const name of names) name.text.setAttribute("aria-pressed", String(Boolean(pinned) && name.side === side && name.place === place));
          restore();
        };
        text.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(side, place));
        text.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && restore());
        text.addEventListener("focus", () => text.matches(":focus-visible") && show(side, place));
        text.addEventListener("blur", restore);
        text.addEventListener("click", pin);
        text.addEventListener("keydown", (event) => {
          const moves = { ArrowDown: [side, place + 1], ArrowUp: [side, place - 1], ArrowRight: ["to", place], ArrowLeft: ["from", place] };
          const [toSide, toPlace] = moves[event.key] || [];
          if (event.key === "Enter" || event.key === " ") pin();
          else if (event.key === "Escape") unpin();
          else if (toSide && toPlace >= 0 && toPlace < n) focusOn(toSide, toPlace);
          else if (!toSide) return;
          event.preventDefault();
        });
        names.push({ side, place, text });
        svg.append(text);
      });
    }
    find("lines").replaceChildren(svg);
    // Of another head the same token stays chosen.
    if (pinned && pinned.place >= n) pinned = null;
    if (pinned) names.find((name) => name.side === pinned.side && name.place === pinned.place).text.setAttribute("aria-pressed", "true");
    restore();
  };
  const CELL = 16;
  const drawSentence = () => {
    if (!data.sentences.length) return;
    const sentence = data.sentences[state.sentence];
    const n = sentence.tokens.length;
    const weights = weightsOf(sentence, state.head);
    const rows = [];
    for (let from = 0; from < n; from++) {
      for (let to = 0; to < n; to++) {
        rows.push({ from, to, query: sentence.tokens[from], key: sentence.tokens[to], weight: weights[from * n + to] / 255 });
      }
    }
    drawLines(sentence, weights);
    const [side, above] = [90, 84];
    const svg = svgElement("svg", { width: side + CELL * n + 20, height: above + CELL * n + 4, class: "chart" });
    find("matrix").setAttribute("aria-label", `Attention of ${label(state.head)} as a matrix, one row for each query token`);
    const cut = (token) => (token.length > 12 ? `${token.slice(0, 11)}…` : token);
    sentence.tokens.forEach((token, place) => {
      const [at, line] = [side + CELL * (place + 0.5), above + CELL * (place + 0.5) + 4];
      svg.append(text(at, above - 6, cut(token), { transform: `rotate(-60 ${at} ${above - 6})` }));
      svg.append(text(side - 6, line, cut(token), { "text-anchor": "end" }));
    });
    for (const row of rows) {
      const fill = data.ramps.plain[Math.round(row.weight * (data.ramps.plain.length - 1))];
      const cell = svgElement("rect", { x: side + CELL * row.to, y: above + CELL * row.from, width: CELL, height: CELL, fill });
      svg.append(titled(cell, `${row.query} → ${row.key} ${row.weight.toFixed(3)}`));
    }
    find("matrix").replaceChildren(svg);
    const strongest = [...rows].sort((one, other) => other.weight - one.weight).slice(0, 5);
    find("strongest").textContent = `Strongest: ${strongest.map((row) => `${row.query} → ${row.key} ${row.weight.toFixed(2)}`).join("; ")}. Brighter cells have larger weights, from 0 to 1, stored in steps of 1/255.`;
  };
  // --- all heads on a sentence -----------------------------------------------------------------------------------------
  const [MAP, GAP, MARGIN] = [44, 4, 24];
  const drawAllHeads = () => {
    if (!data.sentences.length) return;
    const sentence = data.sentences[state.sentence];
    const n = sentence.tokens.length;
    const colours = data.ramps.plain.map((colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));
    const canvas = find("all");
    canvas.width = MARGIN + data.heads * (MAP + GAP);
    canvas.height = MARGIN + data.layers * (MAP + GAP);
    const drawing = canvas.getContext("2d");
    drawing.imageSmoothingEnabled = false;
    drawing.fillStyle = getComputedStyle(document.body).color;
    drawing.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
    drawing.font = "12px system-ui, DejaVu Sans, sans-serif";
    drawing.textAlign = "center";
    drawing.textBaseline = "middle";
    const at = (place) => MARGIN + place * (MAP + GAP);
    for (let head = 0; head < data.heads; head++) drawing.fillText(head + 1, at(head) + MAP / 2, MARGIN / 2);
    for (let layer = 0; layer < data.layers; layer++) drawing.fillText(layer + 1, MARGIN / 2, at(layer) + MAP / 2);
    const small = document.createElement("canvas");
    [small.width, small.height] = [n, n];
    const picture = small.getContext("2d");
    for (let index = 0; index < places; index++) {
      const image = picture.createImageData(n, n);
      weightsOf(sentence, index).forEach((weight, cell) => {
        const colour = colours[Math.round((weight / 255) * (colours.length - 1))];
        image.data.set([...colour, 255], 4 * cell);
      });
      picture.putImageData(image, 0, 0);
      const [x, y] = [at(index % data.heads), at(Math.floor(index / data.heads))];
      drawing.drawImage(small, x, y, MAP, MAP);
      if (index === state.head) {
        drawing.lineWidth = 3;
        drawing.strokeRect(x - 1, y - 1, MAP + 2, MAP + 2);
      }
    }
  };
  const headAt = (event) => {
    const [column, row] = [event.offsetX, event.offsetY].map((place) => Math.floor((place - MARGIN) / (MAP + GAP)));
    return column >= 0 && column < data.heads && row >= 0 && row < data.layers ? row * data.heads + column : null;
  };

  // --- what a head attends to in the corpus ------------------------------------------------------------------------------
  // Pointing at a kind of pair, or at a pair, marks the pairs of that kind; a click on the kind keeps them marked.
  let pinnedKind = null;
  const linkKind = (kind) => {
    for (const item of [...find("kinds").tBodies[0].rows, ...find("pairs").children]) item.classList.toggle("linked", kind !== null && item.dataset.kind === kind);
    for (const button of find("kinds").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.textContent === pinnedKind));
    const count = find("pairs").querySelectorAll(".linked").length;
    find("pairs-note").textContent = kind === null ? "" : `${kind}: ${count} of the ${find("pairs").children.length} strongest pairs.`;
  };
  const fillEvidence = () => {
    const { texts, pairs, kinds } = data.evidence;
    if (!pairs.length) return;
    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    const shown = kinds[state.head][find("kinds-of").value] || [];
    const most = Math.max(...shown.map(([, share, even]) => Math.max(share, even)));
    find("kinds").tBodies[0].replaceChildren(
      ...shown.map(([kind, share, even]) => {
        const row = element("tr");
        const bars = element("td", { class: "bars", "aria-hidden": "true" });
        bars.append(element("span", { class: "share", style: `width: ${(100 * share) / most}%` }));
        bars.append(element("span", { class: "even", style: `left: ${(100 * even) / most}%` }));
        const name = element("th", { scope: "row" });
        name.append(element("button", { type: "button", "aria-pressed": "false" }, kind));
        name.firstChild.addEventListener("click", () => {
          pinnedKind = pinnedKind === kind ? null : kind;
          linkKind(pinnedKind);
        });
        row.dataset.kind = kind;
        row.addEventListener("mouseenter", () => linkKind(kind));
        row.addEventListener("mouseleave", () => linkKind(pinnedKind));
        row.append(name, bars, element("td", {}, percent(share)), element("td", {}, percent(even)));
        row.append(element("td", {}, even > 0 ? (share / even).toFixed(1) : "–"));
        return row;
      }),
    );
    find("pairs").replaceChildren(
      ...pairs[state.head].map(([sentence, query, key, weight, kindsOfPair]) => {
        const item = element("li");
        const kind = kindsOfPair[find("kinds-of").value];
        if (kind !== undefined) {
          item.dataset.kind = kind;
          item.addEventListener("mouseenter", () => linkKind(kind));
          item.addEventListener("mouseleave", () => linkKind(pinnedKind));
        }
        texts[sentence].split(" ").forEach((word, place) => {
          item.append(place === query ? element("b", {}, word) : place === key ? element("u", {}, word) : word, " ");
        });
        item.append(`(${weight.toFixed(2)})`);
        return item;
      }),
    );
    if (!shown.some(([kind]) => kind === pinnedKind)) pinnedKind = null;
    linkKind(pinnedKind);
  };

  // The value of a head among those of all heads, with its interval, and the null distribution behind it.
  const [STRIP, STRIP_HEIGHT] = [130, 16];
  const strip = (measure) => {
    const values = data.values[measure.measure];
    const value = values[state.head];
    if (measure.kind === "name" || value === null) return "";
    const range = nullOf(measure, state.head);
    const ends = intervalOf(measure, state.head);
    const all = [...values.filter((one) => one !== null), ...ends, ...(range ? [range.low, range.high] : [])];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const at = (one) => (high > low ? 4 + ((one - low) / (high - low)) * (STRIP - 8) : STRIP / 2);
    const name = `All heads: ${shown(low)} to ${shown(high)}; ${nullWords(measure, state.head)}`;
    const svg = svgElement("svg", { width: STRIP, height: STRIP_HEIGHT, role: "img", class: "strip", "aria-label": name });
    const mark = (kind, attributes) => svg.append(svgElement(kind, attributes));
    svg.append(svgElement("title", {}, name));
    const middle = STRIP_HEIGHT / 2;
    mark("line", { x1: at(low), x2: at(high), y1: middle, y2: middle, class: "extent" });
    if (range) mark("rect", { x: at(range.low) - 1, width: Math.max(at(range.high) - at(range.low), 0) + 2, y: 1, height: STRIP_HEIGHT - 2, class: "null" });
    if (ends.length) mark("line", { x1: at(ends[0]), x2: at(ends[1]), y1: middle, y2: middle, class: "interval" });
    mark("circle", { cx: at(value), cy: middle, r: 3.5, class: isInside(measure.measure, state.head) ? "value inside" : "value" });
    return svg;
  };
  const fillCard = () => {
    find("card-title").textContent = label(state.head).replace("layer", "Layer");
    const body = find("values").tBodies[0];
    body.replaceChildren();
    const group = find("group").value;
    for (const measure of there.filter((one) => !group || one.group === group)) {
      const value = data.values[measure.measure][state.head];
      const row = element("tr", { "data-measure": measure.measure });
      if (measure.measure === state.measure) row.className = "shown";
      const name = element("th", { scope: "row", title: `${measure.study}, ${measure.item}; ${measure.model}` }, `${titleOf(measure)}${unit(measure)}`);
      row.append(name);
      const ends = intervalOf(measure, state.head);
      const interval = value === null || !ends.length ? "" : ` [${ends.map(shown).join(", ")}]`;
      if (isInside(measure.measure, state.head)) row.classList.add("inside");
      row.append(element("td", {}, typeof value === "string" ? value.replaceAll("_", " ") : shown(value) + interval));
      const drawn = element("td");
      drawn.append(strip(measure));
      row.append(drawn);
      const percentile = element("td");
      const rank = data.percentiles[measure.measure]?.[state.head];
      if (rank !== null && rank !== undefined) {
        percentile.append(element("span", { class: "bar", style: `width: ${rank * 0.6}px`, "aria-hidden": "true" }), rank.toFixed(0));
      } else if (measure.kind === "number" && value !== null) {
        percentile.append(element("span", { title: "no percentile: too many ties, or nearly all heads are inside the null" }, "–"));
      }
      row.append(percentile, element("td", {}, examples(measure)));
      body.append(row);
    }
    const relations = data.relations[state.head] || [];
    find("relations-part").hidden = !data.relations.length;
    find("relations").hidden = !relations.length;
    find("no-relations").hidden = relations.length > 0;
    find("relations").tBodies[0].replaceChildren(
      ...relations.map((relation) => {
        const row = element("tr");
        row.append(element("th", { scope: "row" }, relation.relation));
        row.append(element("td", {}, relation.direction.replaceAll("_", " ")));
        const percent = (share) => (100 * share).toFixed(1);
        for (const share of [relation.accuracy, relation.baseline]) row.append(element("td", {}, `${percent(share)} %`));
        row.append(element("td", {}, `${percent(relation.margin)} [${percent(relation.low)}, ${percent(relation.high)}]`));
        row.append(element("td", {}, relation.n));
        return row;
      }),
    );
    fillMatches();
    fillEvidence();
    drawSentence();
    drawAllHeads();
  };

  // --- heads of other models -------------------------------------------------------------------------------------------
  const link = (index, model, text) => {
    const made = element("a", { href: `#${addressOf({ ...state, model, head: index })}`, "data-index": index }, text);
    made.addEventListener("click", (event) => {
      event.preventDefault();
      if (model !== state.model) switchModel(model, index);
      choose(index);
    });
    return made;
  };
  // Heads are matched with those of the run's model: from another model's head back to it, and from there to all others.
  const partnersOf = (index) => {
    const name = models[state.model].name;
    const origin = state.model === 0 ? index : all.matches[name].findIndex((match) => match && match[0] === index);
    if (origin < 0) return [];
    const partners = models.slice(1).map((model, k) => ({ model: k + 1, match: all.matches[model.name][origin] }));
    return [{ model: 0, match: [origin, 0] }, ...partners].filter((partner) => partner.match && partner.model !== state.model);
  };
  const fillMatches = () => {
    if (models.length < 2) return;
    const partners = partnersOf(state.head);
    find("matched").hidden = !partners.length;
    find("no-matches").hidden = partners.length > 0;
    find("matched").tBodies[0].replaceChildren(
      ...partners.map(({ model, match }) => {
        const row = element("tr");
        const values = models[model].values[state.measure];
        const head = element("td");
        head.append(link(match[0], model, labelIn(models[model].heads, match[0])));
        row.append(element("th", { scope: "row" }, models[model].name), head);
        row.append(element("td", {}, model === 0 ? "–" : shown(match[1])), element("td", {}, values ? shown(values[match[0]]) : "–"));
        return row;
      }),
    );
  };

  // --- what is chosen --------------------------------------------------------------------------------------------------
  const addressOf = (shownState) => {
    const heads = models[shownState.model].heads;
    const place = `${Math.floor(shownState.head / heads) + 1}-${(shownState.head % heads) + 1}`;
    const model = shownState.model ? { model: models[shownState.model].name } : {};
    return new URLSearchParams({ ...model, head: place, measure: shownState.measure });
  };
  const remember = () => history.replaceState(null, "", `#${addressOf(state)}`);
  const choose = (index) => {
    buttons[state.head].setAttribute("aria-pressed", "false");
    state.head = index;
    buttons.forEach((button, place) => (button.tabIndex = place === index ? 0 : -1));
    buttons[index].setAttribute("aria-pressed", "true");
    fillCard();
    remember();
    // On a phone the card is far below what was tapped.
    if (matchMedia("(max-width: 48rem)").matches) find("card").scrollIntoView();
  };
  const drawAll = () => {
    paintGrid();
    fillRanking();
    fillCard();
  };
  const known = (name) => there.some((measure) => measure.measure === name);
  const recall = () => {
    const said = new URLSearchParams(location.hash.slice(1));
    const model = models.findIndex((one) => one.name === said.get("model"));
    state.model = Math.max(model, 0);
    useModel(state.model);
    const unknown = said.get("model") !== null && model < 0;
    find("address-note").hidden = !unknown;
    find("address-note").textContent = unknown ? `This page has no model ${said.get("model")}, which its address names: it shows ${all.name}.` : "";
    const [layer, head] = (said.get("head") || "").split("-").map(Number);
    state.head = layer >= 1 && layer <= data.layers && head >= 1 && head <= data.heads ? (layer - 1) * data.heads + head - 1 : 0;
    if (known(said.get("measure"))) state.measure = said.get("measure");
    chooseMeasures();
  };
  const dark = () => document.documentElement.dataset.theme === "dark";
  const setTheme = (name) => {
    document.documentElement.dataset.theme = name;
    find("theme").textContent = name === "dark" ? "Light" : "Dark";
    find("theme").setAttribute("aria-pressed", String(name === "dark"));
  };
  const fillChoices = () => {
    const groups = new Map();
    for (const measure of there) {
      if (!groups.has(measure.group)) groups.set(measure.group, element("optgroup", { label: measure.group }));
      groups.get(measure.group).append(element("option", { value: measure.measure }, `${measure.title}${unit(measure)}`));
    }
    find("measure").replaceChildren(...groups.values());
    find("measure").value = state.measure;
    const numbers = element("optgroup", { label: "Measures" });
    numbers.append(...there.filter((measure) => measure.kind === "number").map((measure) => element("option", { value: measure.measure }, `${measure.title}${unit(measure)}`)));
    const kinds = [...new Set(data.relations.flat().map((row) => row.relation))].sort();
    const followed = element("optgroup", { label: "Relations: which heads follow" });
    followed.append(...kinds.map((kind) => element("option", { value: RELATION + kind }, kind)));
    find("rank-by").replaceChildren(numbers, ...(kinds.length ? [followed] : []));
    if (byName.get(state.measure).kind === "number") find("rank-by").value = state.measure;
    find("group").replaceChildren(element("option", { value: "" }, "all groups"), ...[...new Set(there.map((measure) => measure.group))].map((name) => element("option", { value: name }, name)));
    find("evidence-part").hidden = !data.evidence.pairs.length;
    const evidence = data.evidence.kinds.length ? Object.keys(data.evidence.kinds[0]).reverse() : [];
    find("kinds-of").replaceChildren(...evidence.map((name) => element("option", { value: name }, name)));
    find("sentence-part").hidden = !data.sentences.length;
    find("shown-note").textContent = data.shown_note;
    find("sentence").replaceChildren(...data.sentences.map((sentence, place) => element("option", { value: place }, sentence.text)));
    state.sentence = Math.min(state.sentence, Math.max(data.sentences.length - 1, 0));
    find("sentence").value = state.sentence;
    const absent = data.measures.filter((measure) => measure.note);
    find("absent").replaceChildren(...absent.map((measure) => element("li", {}, `${measure.title} (${measure.study}): ${measure.note}`)));
    find("absent").closest("details").hidden = !absent.length;
    find("model").value = state.model;
  };
  const showModel = () => {
    scales.clear();
    fillChoices();
    buildGrid();
    drawAll();
    buttons.forEach((button, place) => (button.tabIndex = place === state.head ? 0 : -1));
  };
  const switchModel = (index, head) => {
    state.model = index;
    useModel(index);
    state.head = Math.min(head, places - 1);
    chooseMeasures();
    showModel();
    remember();
  };

  find("measure").addEventListener("change", () => {
    state.measure = find("measure").value;
    if (byName.get(state.measure).kind === "number") find("rank-by").value = state.measure;
    drawAll();
    remember();
  });
  find("model-part").hidden = models.length < 2;
  find("matched-part").hidden = models.length < 2;
  find("model").append(...models.map((model, k) => element("option", { value: k }, model.name)));
  find("model").addEventListener("change", () => switchModel(Number(find("model").value), state.head));
  find("group").addEventListener("change", fillCard);
  find("rank-by").addEventListener("change", fillRanking);
  find("ranking-all").addEventListener("click", () => {
    allRanked = !allRanked;
    fillRanking();
  });
  find("grey").addEventListener("change", paintGrid);
  find("kinds-of").addEventListener("change", fillEvidence);
  find("sentence").addEventListener("change", () => {
    state.sentence = Number(find("sentence").value);
    pinned = null;
    drawSentence();
    drawAllHeads();
  });
  find("all").addEventListener("click", (event) => {
    const index = headAt(event);
    if (index !== null) choose(index);
  });
  find("grid").addEventListener("keydown", (event) => {
    const from = buttons.indexOf(document.activeElement);
    const [layer, head] = [Math.floor(from / data.heads), from % data.heads];
    const to = {
      ArrowRight: from + (head + 1 < data.heads),
      ArrowLeft: from - (head > 0),
      ArrowDown: from + (layer + 1 < data.layers ? data.heads : 0),
      ArrowUp: from - (layer > 0 ? data.heads : 0),
      Home: from - head,
      End: from - head + data.heads - 1,
    }[event.key];
    if (from < 0 || to === undefined) return;
    event.preventDefault();
    buttons[from].tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  });
  const system = matchMedia("(prefers-color-scheme: dark)");
  setTheme(system.matches ? "dark" : "light");
  const changeTheme = (name) => {
    setTheme(name);
    drawAllHeads();
  };
  system.addEventListener("change", () => changeTheme(system.matches ? "dark" : "light"));
  find("theme").addEventListener("click", () => changeTheme(dark() ? "light" : "dark"));
  // Paper is white.
  let before = null;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    changeTheme("light");
  });
  addEventListener("afterprint", () => changeTheme(before));
  // An address that is typed or followed, or a step back.
  addEventListener("hashchange", () => {
    recall();
    showModel();
  });
  recall();
  showModel();
})();
