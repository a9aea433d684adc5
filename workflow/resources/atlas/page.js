"use strict";
(async () => {
  const find = (id) => document.getElementById(id);
  if (!("DecompressionStream" in window)) {
    find("too-old").hidden = false;
    return;
  }
  const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytesOf(find("data").textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const all = await new Response(unpacked).json();
  // The run's model first; what the page shows is of the model in `data`.
  const models = [all, ...all.others];
  const RELATION = "relation:";
  let data, places, byName, there, choices;
  const useModel = (index) => {
    data = { ...models[index], ramps: all.ramps };
    for (const key of ["values", "intervals", "inside"]) data[key] = { ...data[key] };
    places = data.layers * data.heads;
    there = data.measures.filter((measure) => !measure.note);
    // How well heads follow a relation is a measure too, of the heads that follow it better than a fixed offset.
    const relations = [...new Set(data.relations.flat().map((row) => row.relation))].sort().map((relation) => {
      const rows = data.relations.map((followed) => followed.find((row) => row.relation === relation));
      const name = RELATION + relation;
      data.values[name] = rows.map((row) => row?.margin ?? null);
      data.intervals[name] = ["low", "high"].map((end) => rows.map((row) => row?.[end] ?? null));
      data.inside[name] = rows.map(() => 0);
      const facts = { study: "clark2019", item: "relations of each head", title: `Margin over the best fixed offset: ${relation}`, unit: "share of words", higher_means: "follows the relation beyond what word distance predicts", lower_means: "" };
      return { ...facts, measure: name, kind: "number", group: "Relations that heads follow", n: "", chance: 0, null: "", inside_null: "", calibration: "", model: data.name };
    });
    choices = [...there, ...relations];
    byName = new Map([...data.measures, ...relations].map((measure) => [measure.measure, measure]));
  };
  useModel(0);
  // Okabe and Ito's colours: told apart under the common kinds of colour blindness.
  const NAMES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#8a8a8a"];
  const NO_NAME = "#e6e6e6";
  const state = { model: 0, measure: "", head: 0, beside: null, sentence: 0 };
  const chooseMeasures = () => {
    if (!choices.some((measure) => measure.measure === state.measure)) state.measure = there[0].measure;
  };
  chooseMeasures();

  const filled = (made, attributes, text) => {
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== "") made.textContent = text;
    return made;
  };
  const element = (name, attributes = {}, text = "") => filled(document.createElement(name), attributes, text);
  const svgElement = (name, attributes = {}, text = "") => filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, text);
  const holding = (made, ...parts) => {
    made.append(...parts);
    return made;
  };
  // A row of a table, of texts or elements; its first cell is its heading.
  const rowOf = (heading, ...cells) => holding(element("tr"), holding(element("th", { scope: "row" }), heading), ...cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : holding(element("td"), cell))));
  const label = (index) => `layer ${Math.floor(index / data.heads) + 1}, head ${(index % data.heads) + 1}`;
  const placeIn = (heads, index) => `${Math.floor(index / heads) + 1}-${(index % heads) + 1}`;
  const place = (index) => placeIn(data.heads, index);
  const indexOf = (said, { layers, heads } = data) => {
    const [layer, head] = (said || "").split("-").map(Number);
    return layer >= 1 && layer <= layers && head >= 1 && head <= heads ? (layer - 1) * heads + head - 1 : null;
  };
  const shownHeads = () => (state.beside === null ? [state.head] : [state.head, state.beside]);
  const shown = (value) => (value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(4))) : value);
  const short = (value) => {
    if (value === null) return "";
    if (typeof value !== "number") return value.split("_").map((part) => part.slice(0, 2)).join("·");
    if (Math.abs(value) < 0.0005) return "0";
    const text = Math.abs(value) >= 10 ? value.toFixed(0) : Math.abs(value) < 0.01 ? value.toFixed(3) : value.toPrecision(2);
    return text.replace(/^(-?)0\./, "$1.");
  };
  // Of a head, if its table has a number for each head.
  const examples = (measure, index) => {
    if (index !== undefined && data.values[measure.measure][index] === null) return "–";
    const own = data.counts[measure.measure]?.[index];
    return own ? `${own} ${measure.n_unit}` : measure.n === "" ? "–" : `≥ ${measure.n} ${measure.n_unit}`;
  };
  // What a measure is compared with: the range of its null distribution, or the value of a head without the effect.
  const nullOf = (measure, index) => {
    const [low, high, q] = (data.null[measure.measure] || []).map((values) => values[index]);
    if (low !== undefined && low !== null) return { low, high, q };
    return measure.chance === "" ? null : { low: measure.chance, high: measure.chance, q: q ?? null };
  };
  const isInside = (name, index) => Boolean(data.inside[name]?.[index]);
  const verdict = (measure, index) => (isInside(measure.measure, index) ? "not beyond" : "beyond");
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
      const like = isInside(state.measure, index) ? `, ${verdict(measure, index)} the null distribution` : "";
      button.setAttribute("aria-label", `${label(index)}: ${titleOf(measure, index)} ${value === null ? "no value" : shown(value)}${like}. ${data.labels[index]}`);
      button.title = `${place(index)}: ${data.labels[index]}`;
      button.setAttribute("aria-pressed", String(index === state.head));
    });
    const said = [`${measure.title}${unit(measure)}. ${measure.study}, ${measure.item}; model: ${measure.model}.`];
    for (const side of ["higher", "lower"]) if (measure[`${side}_means`]) said.push(`${side === "higher" ? "Higher" : "Lower"}: ${measure[`${side}_means`]}.`);
    if (measure.n !== "") said.push(`n: ${examples(measure)}.`);
    if (nullOf(measure, state.head)) {
      const range = nullOf(measure, state.head);
      const from = measure.null ? `Null distribution: ${measure.null}, 95 % of them from ${shown(range.low)} to ${shown(range.high)}.` : `A head without the effect has ${shown(range.low)}.`;
      const told = measure.inside_null === "" ? "" : ` ${measure.inside_null} of ${measure.heads} heads are not beyond it (${data.null[measure.measure] ? "q of 0.05 or more" : "their interval contains it"}).`;
      said.push(from + told);
    } else said.push(measure.calibration);
    if (measure.warning) said.push(`Warning: ${measure.warning}`);
    find("measure-note").textContent = said.join(" ");
    find("grey-part").hidden = !data.inside[state.measure]?.some(Boolean);
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
      item.append(element("span", { class: "key inside" }), "not beyond the null distribution");
      legend.append(item);
    }
  };

  // --- the ranking of heads --------------------------------------------------------------------------------------------
  const RANKED = 10;
  let allRanked = false;
  const intervalOf = (measure, index) => {
    const ends = (data.intervals[measure.measure] || []).map((values) => values[index]);
    return !ends.length || ends.includes(null) ? [] : ends;
  };
  const withInterval = (measure, index) => {
    const [value, ends] = [data.values[measure.measure][index], intervalOf(measure, index)];
    if (typeof value === "string") return value.replaceAll("_", " ");
    return shown(value) + (value !== null && ends.length ? ` [${ends.map(shown).join(", ")}]` : "");
  };
  const ranked = (measure) => {
    const rows = data.values[measure.measure].map((value, index) => ({ index, value })).filter((row) => row.value !== null);
    return measure.kind === "number" ? rows.sort((a, b) => b.value - a.value || a.index - b.index) : [];
  };
  const fillRanking = () => {
    const measure = byName.get(state.measure);
    const rows = ranked(measure);
    const listed = allRanked ? rows : rows.slice(0, RANKED);
    const shownRows = listed.length < rows.length ? `; the first ${listed.length} are listed` : "";
    find("ranking-note").textContent = measure.kind === "number" ? `Largest values first; ${rows.length} of ${places} heads have a value${shownRows}.` : "This measure has no numbers to rank by.";
    find("ranking").hidden = !rows.length;
    const more = find("ranking-all");
    more.hidden = rows.length <= RANKED;
    more.textContent = allRanked ? `List the first ${RANKED} heads` : `List all ${rows.length} heads`;
    // "The head's first relation" is named for each head.
    const abouts = (measure.about && data.values[measure.about]) || [];
    find("ranking").tBodies[0].replaceChildren(
      ...listed.map(({ index }, rank) => {
        const about = abouts[index] && abouts[index] !== "none" ? `${abouts[index].replaceAll("_", " ")}: ` : "";
        const range = nullOf(measure, index);
        const ends = range && (range.low === range.high ? shown(range.low) : `${shown(range.low)} to ${shown(range.high)}`);
        const line = rowOf(rank + 1, link(index, state.model, place(index)), about + withInterval(measure, index), range ? `${data.inside[measure.measure] ? verdict(measure, index) : ""} ${ends}` : "–", data.labels[index]);
        line.classList.toggle("inside", isInside(measure.measure, index));
        return line;
      }),
    );
  };

  // --- the search ------------------------------------------------------------------------------------------------------
  const [MOST_FOUND, BEST] = [12, 3];
  const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const fits = (asked, text) => {
    const words = wordsOf(text);
    return asked.length > 0 && asked.every((part) => words.some((word) => word.startsWith(part)));
  };
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  // A head by its place; heads that follow a relation, by accuracy; the first heads by each measure.
  const search = (query) => {
    const asked = wordsOf(query);
    const named = query.match(/^\s*(?:l|layer)?\s*(\d+)\s*(?:[-.,:\s]|head|h)+\s*(\d+)\s*$/i);
    const index = named ? indexOf(`${named[1]}-${named[2]}`) : null;
    if (named) return index === null ? [] : [{ index, text: data.labels[index] }];
    const relations = data.relations.flatMap((rows, head) =>
      rows
        .filter(({ relation }) => fits(asked, `${relation} ${all.relation_words[relation] ?? all.relation_words[relation.split(":")[0]] ?? ""}`))
        .map((row) => ({ index: head, measure: RELATION + row.relation, accuracy: row.accuracy, text: `${row.relation} ${percent(row.accuracy)} (fixed offset ${percent(row.baseline)}, n = ${row.n})` })),
    );
    const measures = there.filter((measure) => measure.kind === "number" && fits(asked, `${measure.title} ${measure.higher_means} ${measure.lower_means}`));
    const best = measures.flatMap((measure) =>
      ranked(measure).slice(0, BEST).map(({ index: head }) => ({ index: head, measure: measure.measure, text: `${titleOf(measure, head)} ${withInterval(measure, head)}` })),
    );
    return [...relations.sort((one, two) => two.accuracy - one.accuracy), ...best];
  };
  const fillFound = () => {
    const query = find("search").value;
    const results = search(query);
    const listed = results.slice(0, MOST_FOUND);
    find("found-note").textContent = !query.trim() ? "" : results.length ? `Results: ${results.length}${results.length > listed.length ? `; the first ${listed.length} are listed` : ""}.` : "No head, relation or measure has these words.";
    find("found").replaceChildren(
      ...listed.map((result) => holding(element("li"), link(result.index, state.model, `${place(result.index)} · ${result.text}`, result.measure))),
    );
  };

  // --- figures ---------------------------------------------------------------------------------------------------------
  // Text and axes have the colour of the text around them, so that figures fit the dark theme and paper as they are.
  const text = (x, y, words, attributes = {}) => svgElement("text", { x, y, ...attributes }, String(words));
  const titled = (mark, title) => holding(mark, svgElement("title", {}, title));

  const cut = (token) => (token.length > 13 ? `${token.slice(0, 12)}…` : token);

  // --- the card --------------------------------------------------------------------------------------------------------
  const weightsOf = (sentence, head) => {
    sentence.weights ??= bytesOf(sentence.data);
    const size = sentence.rows.length * sentence.tokens.length;
    return sentence.weights.subarray(head * size, (head + 1) * size);
  };
  // Tokens on two sides with a line for each weight; a token that is pointed at, tapped or focused shows its lines alone.
  const [LEAST_WEIGHT, LINE_STEP, TOKEN_SPACE, PARTNERS] = [0.02, 20, 96, 5];
  let pinned = null;
  const drawLines = (sentence, weights) => {
    const { tokens, rows } = sentence;
    const n = tokens.length;
    const width = Math.max(Math.min(find("lines").clientWidth, 380), 260);
    const [left, right] = [TOKEN_SPACE, width - TOKEN_SPACE];
    const y = (place) => LINE_STEP * (place + 0.5) + 4;
    const svg = svgElement("svg", { width, height: LINE_STEP * n + 8, role: "group", "aria-label": `Attention of ${label(state.head)}: tokens that attend on the left, those that are attended to on the right` });
    const lines = [];
    for (const [row, from] of rows.entries()) {
      for (let to = 0; to < n; to++) {
        const weight = weights[row * n + to] / 255;
        if (weight < LEAST_WEIGHT) continue;
        const line = svgElement("line", { x1: left, x2: right, y1: y(from), y2: y(to), class: "arc", style: `stroke-opacity: ${0.05 + 0.95 * weight}` });
        titled(line, `${tokens[from]} → ${tokens[to]} ${weight.toFixed(3)}`);
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
    const restore = () => (pinned ? show(pinned.side, pinned.place) : show("from", null));
    const isPinned = (name) => pinned !== null && name.side === pinned.side && name.place === pinned.place;
    const pin = (wanted) => {
      pinned = wanted;
      for (const name of names) name.text.setAttribute("aria-pressed", String(isPinned(name)));
      restore();
    };
    const focusOn = (side, place) => {
      const nearest = names.filter((name) => name.side === side).reduce((one, two) => (Math.abs(two.place - place) < Math.abs(one.place - place) ? two : one));
      for (const name of names) name.text.setAttribute("tabindex", name === nearest ? "0" : "-1");
      nearest.text.focus();
    };
    for (const [side, x, anchor] of [["from", left - 6, "end"], ["to", right + 6, "start"]]) {
      tokens.forEach((token, place) => {
        if (side === "from" && !rows.includes(place)) return;
        const text = svgElement("text", { x, y: y(place) + 4, "text-anchor": anchor, role: "button", tabindex: side === "from" && place === 0 ? "0" : "-1", class: "token", "aria-label": `${token}, token ${place + 1}, ${side === "from" ? "attends" : "is attended to"}` }, cut(token));
        const toggle = () => pin(isPinned({ side, place }) ? null : { side, place });
        text.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(side, place));
        text.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && restore());
        text.addEventListener("focus", () => text.matches(":focus-visible") && show(side, place));
        text.addEventListener("blur", restore);
        text.addEventListener("click", toggle);
        text.addEventListener("keydown", (event) => {
          const next = (step) => (side === "to" ? place + step : (rows[rows.indexOf(place) + step] ?? -1));
          const moves = { ArrowDown: [side, next(1)], ArrowUp: [side, next(-1)], ArrowRight: ["to", place], ArrowLeft: ["from", place] };
          const [toSide, toPlace] = moves[event.key] || [];
          if (event.key === "Enter" || event.key === " ") toggle();
          else if (event.key === "Escape") pin(null);
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
    pin(names.some(isPinned) ? pinned : null);
  };
  const CELL = 16;
  const mapOf = (sentence, head) => {
    const [n, weights, tokens] = [sentence.tokens.length, weightsOf(sentence, head), sentence.tokens];
    const [side, above, ramp] = [90, 84, data.ramps.plain];
    const [width, height] = [CELL * n, CELL * sentence.rows.length];
    const svg = svgElement("svg", { width: side + width + 20, height: above + height + 4, class: "chart", role: "img", "aria-label": `Attention of ${label(head)} as a matrix, one row for each query token` });
    tokens.forEach((token, place) => {
      const at = side + CELL * (place + 0.5);
      svg.append(text(at, above - 6, cut(token), { transform: `rotate(-60 ${at} ${above - 6})` }));
    });
    svg.append(svgElement("rect", { x: side, y: above, width, height, fill: ramp[0] }));
    const cells = [];
    sentence.rows.forEach((from, row) => {
      svg.append(text(side - 6, above + CELL * (row + 0.5) + 4, cut(tokens[from]), { "text-anchor": "end" }));
      for (let to = 0; to < n; to++) {
        const weight = weights[row * n + to] / 255;
        const step = Math.round(weight * (ramp.length - 1));
        cells.push({ weight, from, to });
        // Of the many weights near 0 of a long sentence, the rectangle behind shows the colour.
        if (!step) continue;
        const cell = svgElement("rect", { x: side + CELL * to, y: above + CELL * row, width: CELL, height: CELL, fill: ramp[step] });
        svg.append(titled(cell, `${tokens[from]} → ${tokens[to]} ${weight.toFixed(3)}`));
      }
    });
    const strongest = cells.sort((one, other) => other.weight - one.weight).slice(0, 5);
    return { svg, strongest: `${place(head)}: ${strongest.map(({ from, to, weight }) => `${tokens[from]} → ${tokens[to]} ${weight.toFixed(2)}`).join("; ")}.` };
  };
  const drawSentence = () => {
    if (!data.sentences.length) return;
    const sentence = data.sentences[state.sentence];
    drawLines(sentence, weightsOf(sentence, state.head));
    const maps = shownHeads().map((head) => mapOf(sentence, head));
    find("matrix").replaceChildren(...sideBySide("Map", (head, k) => maps[k].svg));
    find("strongest").textContent = `Strongest of ${maps.map((map) => map.strongest).join(" ")} Brighter cells have larger weights, from 0 to 1, stored in steps of 1/255.`;
  };

  // --- all heads on a sentence -----------------------------------------------------------------------------------------
  const [MAP, GAP, MARGIN] = [44, 4, 24];
  const drawAllHeads = () => {
    if (!data.sentences.length) return;
    const sentence = data.sentences[state.sentence];
    const [n, rows] = [sentence.tokens.length, sentence.rows.length];
    // Pixels as numbers: alpha, blue, green, red.
    const ramp = data.ramps.plain.map((colour) => parseInt(`ff${[5, 3, 1].map((k) => colour.slice(k, k + 2)).join("")}`, 16));
    const canvas = find("all");
    [canvas.width, canvas.height] = [data.heads, data.layers].map((count) => MARGIN + count * (MAP + GAP));
    const drawing = canvas.getContext("2d");
    const [fillStyle, strokeStyle] = ["--text", "--mark"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name));
    Object.assign(drawing, { fillStyle, strokeStyle, lineWidth: 3, imageSmoothingEnabled: n > MAP, font: "12px system-ui, DejaVu Sans, sans-serif", textAlign: "center", textBaseline: "middle" });
    const at = (place) => MARGIN + place * (MAP + GAP);
    for (let head = 0; head < data.heads; head++) drawing.fillText(head + 1, at(head) + MAP / 2, MARGIN / 2);
    for (let layer = 0; layer < data.layers; layer++) drawing.fillText(layer + 1, MARGIN / 2, at(layer) + MAP / 2);
    const small = document.createElement("canvas");
    [small.width, small.height] = [n, rows];
    const picture = small.getContext("2d");
    for (let index = 0; index < places; index++) {
      const image = picture.createImageData(n, rows);
      const pixels = new Uint32Array(image.data.buffer);
      weightsOf(sentence, index).forEach((weight, cell) => (pixels[cell] = ramp[Math.round((weight / 255) * (ramp.length - 1))]));
      picture.putImageData(image, 0, 0);
      const [x, y] = [at(index % data.heads), at(Math.floor(index / data.heads))];
      drawing.drawImage(small, x, y, MAP, MAP);
      if (index === state.head) drawing.strokeRect(x - 1, y - 1, MAP + 2, MAP + 2);
    }
  };

  // --- what a head attends to in the corpus ------------------------------------------------------------------------------
  // Pointing at a kind of pair, or at a pair, marks the pairs of that kind; a click on the kind keeps them marked.
  let pinnedKind = null;
  const linkKind = (kind) => {
    for (const item of [...find("kinds").tBodies[0].rows, ...find("pairs").querySelectorAll("li")]) item.classList.toggle("linked", kind !== null && item.dataset.kind === kind);
    for (const button of find("kinds").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.textContent === pinnedKind));
    const [marked, listed] = [".linked", "li"].map((which) => find("pairs").querySelectorAll(which).length);
    find("pairs-note").textContent = kind === null ? "" : `${kind}: ${marked} of the ${listed} pairs.`;
  };
  const fillEvidence = () => {
    const { texts, kinds } = data.evidence;
    const pairs = data.evidence[find("selection").value];
    if (!pairs.length) return;
    const shown = kinds[state.head][find("kinds-of").value] || [];
    const most = Math.max(...shown.map(([, share, even]) => Math.max(share, even)));
    find("kinds").tBodies[0].replaceChildren(
      ...shown.map(([kind, share, even]) => {
        const bars = holding(element("td", { class: "bars", "aria-hidden": "true" }), element("span", { class: "share", style: `width: ${(100 * share) / most}%` }), element("span", { class: "even", style: `left: ${(100 * even) / most}%` }));
        const name = element("button", { type: "button", "aria-pressed": "false" }, kind);
        name.addEventListener("click", () => {
          pinnedKind = pinnedKind === kind ? null : kind;
          linkKind(pinnedKind);
        });
        const row = rowOf(name, bars, percent(share), percent(even), even > 0 ? (share / even).toFixed(1) : "–");
        row.dataset.kind = kind;
        row.addEventListener("mouseenter", () => linkKind(kind));
        row.addEventListener("mouseleave", () => linkKind(pinnedKind));
        return row;
      }),
    );
    const listOf = (head) => {
      const list = element("ol");
      for (const [sentence, query, key, weight, kindsOfPair] of pairs[head]) {
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
        item.append(`(${weight.toPrecision(2)})`);
        list.append(item);
      }
      return list;
    };
    find("pairs").replaceChildren(...sideBySide("Pairs", listOf));
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
    const other = values[state.beside] ?? null;
    if (other !== null) mark("path", { d: `M${at(other) - 5} ${middle} l5 -5 l5 5 l-5 5 z`, class: "beside" });
    mark("circle", { cx: at(value), cy: middle, r: 3.5, class: isInside(measure.measure, state.head) ? "value inside" : "value" });
    return svg;
  };
  // One column for each shown head.
  const sideBySide = (what, part) =>
    shownHeads().map((head, k) => {
      const column = element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `${what} of ${label(head)}` });
      if (state.beside !== null) column.append(element("h4", {}, place(head)));
      column.append(part(head, k));
      return column;
    });
  const fillValues = () => {
    const group = find("group").value;
    find("values").classList.toggle("two", state.beside !== null);
    find("values").tHead.rows[0].replaceChildren(
      ...["Measure", ...shownHeads().map((head) => `${place(head)}, 95 % interval`), "Among all heads", "Percentile", "n"].map((name) => element("th", { scope: "col" }, name)),
    );
    find("values").tBodies[0].replaceChildren(
      ...there.filter((one) => !group || one.group === group).map((measure) => {
        const values = shownHeads().map((head) => (titleOf(measure) === titleOf(measure, head) ? "" : `${data.values[measure.about][head]}: `) + withInterval(measure, head));
        const rank = data.percentiles[measure.measure]?.[state.head] ?? null;
        const untested = measure.kind === "number" && data.values[measure.measure][state.head] !== null ? element("span", { title: "no percentile: too many ties, or nearly all heads are not beyond the null" }, "–") : "";
        const percentile = element("td");
        percentile.append(...(rank === null ? [untested] : [element("span", { class: "bar", style: `width: ${rank * 0.4}px`, "aria-hidden": "true" }), rank.toFixed(0)]));
        const row = rowOf(titleOf(measure) + unit(measure), ...values, strip(measure), percentile, examples(measure, state.head));
        row.dataset.measure = measure.measure;
        row.title = `${measure.study}, ${measure.item}; ${measure.model}`;
        row.classList.toggle("shown", measure.measure === state.measure);
        row.classList.toggle("inside", isInside(measure.measure, state.head));
        return row;
      }),
    );
  };
  const fillCard = () => {
    find("card-title").textContent = label(state.head).replace("layer", "Layer");
    find("label").replaceChildren(...shownHeads().map((head) => element("span", {}, state.beside === null ? data.labels[head] : `${place(head)}: ${data.labels[head]}`)));
    fillValues();
    const relations = shownHeads().flatMap((head) => (data.relations[head] || []).map((relation) => ({ head, ...relation })));
    find("relations-part").hidden = !data.relations.length;
    find("relations").hidden = !relations.length;
    find("no-relations").hidden = relations.length > 0;
    find("relations").tBodies[0].replaceChildren(
      ...relations.map(({ head, relation, direction, accuracy, baseline, margin, low, high, n }) => {
        const points = (share) => (100 * share).toFixed(1);
        const interval = `${points(margin)} [${points(low)}, ${points(high)}]`;
        return rowOf(relation, place(head), direction.replaceAll("_", " "), percent(accuracy), percent(baseline), interval, n);
      }),
    );
    fillMatches();
    fillEvidence();
    drawSentence();
    drawAllHeads();
  };

  // --- heads of other models -------------------------------------------------------------------------------------------
  const link = (index, model, text, measure = state.measure) => {
    const made = element("a", { href: `#${addressOf({ model, head: index, measure, beside: model === state.model ? state.beside : null })}`, "data-index": index }, text);
    made.addEventListener("click", (event) => {
      event.preventDefault();
      if (model !== state.model) switchModel(model, index);
      else if (measure !== state.measure) colourBy(measure);
      choose(index);
    });
    return made;
  };
  // Heads are matched with those of the run's model: from another model's head back to it, and from there to all others.
  const matchesOf = (model) => all.matches[model.name].map(([layer, head, ofLayer, ofHead, distance]) => ({ from: (layer - 1) * all.heads + head - 1, to: (ofLayer - 1) * model.heads + ofHead - 1, distance }));
  const partnersOf = (index) => {
    const origin = state.model === 0 ? index : matchesOf(models[state.model]).find((match) => match.to === index)?.from;
    const partners = models.slice(1).map((model, k) => ({ model: k + 1, ...matchesOf(model).find((match) => match.from === origin) }));
    return [{ model: 0, to: origin }, ...partners].filter((partner) => partner.to !== undefined && partner.model !== state.model);
  };
  const fillMatches = () => {
    if (models.length < 2) return;
    const partners = partnersOf(state.head);
    find("matched").hidden = !partners.length;
    find("no-matches").hidden = partners.length > 0;
    find("matched").tBodies[0].replaceChildren(
      ...partners.map(({ model, to: index, distance }) => {
        const values = models[model].values[state.measure];
        return rowOf(models[model].name, link(index, model, placeIn(models[model].heads, index)), model === 0 ? "–" : shown(distance), values ? shown(values[index]) : "–");
      }),
    );
  };

  // --- what is chosen --------------------------------------------------------------------------------------------------
  const addressOf = ({ model, head, measure, beside }) => {
    const { name, heads } = models[model];
    const further = { ...(model ? { model: name } : {}), head: placeIn(heads, head), measure };
    return new URLSearchParams(beside === null ? further : { ...further, beside: placeIn(heads, beside) });
  };
  const remember = () => history.replaceState(null, "", `#${addressOf(state)}`);
  // Where the card is below the grid, it comes into view.
  const showCard = () => {
    if (!matchMedia("(max-width: 75rem)").matches) return;
    find("card").scrollIntoView();
    find("card").focus({ preventScroll: true });
  };
  const choose = (index) => {
    buttons[state.head].setAttribute("aria-pressed", "false");
    state.head = index;
    buttons.forEach((button, place) => (button.tabIndex = place === index ? 0 : -1));
    buttons[index].setAttribute("aria-pressed", "true");
    fillCard();
    remember();
    showCard();
  };
  const drawAll = () => {
    paintGrid();
    fillRanking();
    fillCard();
  };
  const recall = () => {
    const said = new URLSearchParams(location.hash.slice(1));
    const model = models.findIndex((one) => one.name === said.get("model"));
    state.model = Math.max(model, 0);
    useModel(state.model);
    const unknown = said.get("model") !== null && model < 0;
    find("address-note").hidden = !unknown;
    find("address-note").textContent = unknown ? `This page has no model ${said.get("model")}, which its address names: it shows ${all.name}.` : "";
    state.head = indexOf(said.get("head")) ?? 0;
    state.beside = indexOf(said.get("beside"));
    state.measure = said.get("measure") ?? state.measure;
    // An address with words ends on the first head that the search finds.
    if (said.get("search")) {
      find("search").value = said.get("search");
      const [found] = search(said.get("search"));
      if (found) [state.head, state.measure] = [found.index, found.measure ?? state.measure];
    }
    chooseMeasures();
  };
  const setTheme = (name) => {
    document.documentElement.dataset.theme = name;
    find("theme").textContent = name === "dark" ? "Light" : "Dark";
    find("theme").setAttribute("aria-pressed", String(name === "dark"));
    drawAllHeads();
  };
  const fillChoices = () => {
    const groups = new Map();
    for (const measure of choices) {
      if (!groups.has(measure.group)) groups.set(measure.group, element("optgroup", { label: measure.group }));
      const title = measure.measure.startsWith(RELATION) ? measure.measure.slice(RELATION.length) : `${measure.title}${unit(measure)}`;
      groups.get(measure.group).append(element("option", { value: measure.measure }, title));
    }
    find("measure").replaceChildren(...groups.values());
    find("measure").value = state.measure;
    find("beside").replaceChildren(element("option", { value: "" }, "no other head"), ...data.labels.map((said, index) => element("option", { value: index }, `${place(index)} · ${said}`)));
    find("beside").value = state.beside ?? "";
    find("group").replaceChildren(element("option", { value: "" }, "all groups"), ...[...new Set(there.map((measure) => measure.group))].map((name) => element("option", { value: name }, name)));
    find("evidence-part").hidden = !data.evidence.strongest.length;
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
    find("title").textContent = document.title = `Attention atlas: ${data.name}`;
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
    state.beside = null;
    chooseMeasures();
    showModel();
    remember();
  };

  const colourBy = (measure) => {
    state.measure = measure;
    find("measure").value = measure;
    drawAll();
    remember();
  };
  find("measure").addEventListener("change", () => colourBy(find("measure").value));
  find("beside").addEventListener("change", () => {
    state.beside = find("beside").value === "" ? null : Number(find("beside").value);
    fillCard();
    remember();
  });
  find("search").addEventListener("input", fillFound);
  find("search").addEventListener("keydown", (event) => event.key === "Enter" && find("found").querySelector("a")?.click());
  find("model-part").hidden = models.length < 2;
  find("matched-part").hidden = models.length < 2;
  find("model").append(...models.map((model, k) => element("option", { value: k }, model.name)));
  find("model").addEventListener("change", () => switchModel(Number(find("model").value), state.head));
  find("group").addEventListener("change", fillValues);
  find("ranking-all").addEventListener("click", () => {
    allRanked = !allRanked;
    fillRanking();
  });
  find("grey").addEventListener("change", paintGrid);
  for (const name of ["kinds-of", "selection"]) find(name).addEventListener("change", fillEvidence);
  find("sentence").addEventListener("change", () => {
    state.sentence = Number(find("sentence").value);
    pinned = null;
    drawSentence();
    drawAllHeads();
  });
  find("all").addEventListener("click", (event) => {
    const [head, layer] = [event.offsetX, event.offsetY].map((at) => Math.floor((at - MARGIN) / (MAP + GAP)) + 1);
    const index = indexOf(`${layer}-${head}`);
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

  // --- what is taken away ----------------------------------------------------------------------------------------------
  const save = (name, type, content) => {
    const file = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: `${data.name}-${name}` });
    file.click();
    setTimeout(() => URL.revokeObjectURL(file.href), 1000);
  };
  const saveSvg = (name, svg) => {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("font-family", "sans-serif");
    copy.setAttribute("font-size", "12");
    save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
  };
  find("save-map").addEventListener("click", () => saveSvg(`${place(state.head)}-sentence-${state.sentence + 1}`, find("matrix").querySelector("svg")));
  find("save-grid").addEventListener("click", () => {
    const [width, height] = [44, 30];
    const svg = svgElement("svg", { width: width * (data.heads + 1), height: height * (data.layers + 1) + 24 });
    const cell = (column, row, words, colour, ink) => {
      const [x, y] = [column * width, row * height + 24];
      if (colour) svg.append(svgElement("rect", { x: x + 1, y: y + 1, width: width - 2, height: height - 2, fill: colour }));
      svg.append(text(x + width / 2, y + height / 2 + 4, words, { "text-anchor": "middle", fill: ink || "#1b1b1b" }));
    };
    svg.append(text(4, 16, `${data.name}: ${byName.get(state.measure).title}${unit(byName.get(state.measure))}`));
    for (let head = 1; head <= data.heads; head++) cell(head, 0, head);
    for (let layer = 1; layer <= data.layers; layer++) cell(0, layer, layer);
    buttons.forEach((button, index) => cell((index % data.heads) + 1, Math.floor(index / data.heads) + 1, button.textContent, button.style.background || "#e6e6e6", button.style.color));
    saveSvg(state.measure.replace(":", "-"), svg);
  });
  find("save-heads").addEventListener("click", () => {
    const columns = there.flatMap(({ measure }) => [[measure, data.values[measure]], ...(data.intervals[measure] || []).map((ends, k) => [`${measure}_${["low", "high"][k]}`, ends])]);
    const rows = data.labels.map((said, index) => [data.name, ...place(index).split("-"), said, ...columns.map(([, values]) => values[index] ?? "")]);
    save("heads.tsv", "text/tab-separated-values", [["model", "layer", "head", "label", ...columns.map(([name]) => name)], ...rows].map((row) => row.join("\t")).join("\n") + "\n");
  });
  const copy = async (content, what) => {
    try {
      await navigator.clipboard.writeText(content);
      find("copied").textContent = `${what} copied.`;
    } catch {
      prompt(what, content);
    }
  };
  find("copy-link").addEventListener("click", () => copy(location.href, "Link"));
  find("copy-bibtex").addEventListener("click", () => copy(find("bibtex").textContent, "BibTeX"));
  find("label-note").textContent = all.label_rule;
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
  find("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  // Paper is white.
  let before = null;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    setTheme("light");
  });
  addEventListener("afterprint", () => setTheme(before));
  // An address that is typed or followed, or a step back.
  addEventListener("hashchange", () => {
    if (location.hash === "#card") return;
    recall();
    showModel();
    showCard();
  });
  recall();
  showModel();
  setTheme(system.matches ? "dark" : "light");
  if (/head=|search=/.test(location.hash)) showCard();
})();
