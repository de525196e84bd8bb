import type { VNode } from "preact";
import { callsIn } from "../fold";
import { type Diagram, diagramOf, NODE_HEIGHT, type Way } from "../layout";
import type { Json, JsonObject, Machine, Move, Step } from "../protocol";
import { moveInWords, stayedInWords, WORDS } from "../words";

interface Lit {
  /** How many are in each state now: the session is in one, calls may be in several. */
  counts: Map<string, number>;
  /** The same in the other lane, where there is one. */
  other: Map<string, number> | null;
  moves: Move[];
}

const drawn = new WeakMap<Machine, Diagram>();

function drawingOf(machine: Machine): Diagram {
  const diagram = drawn.get(machine) ?? diagramOf(machine);
  drawn.set(machine, diagram);
  return diagram;
}

const isTaken = (way: Way, moves: Move[]): Move | undefined =>
  moves.find((move) => move.from === way.from && move.to === way.to);

interface WayProps {
  way: Way;
  taken: Move | undefined;
}

function WayLine({ way, taken, arrow }: WayProps & { arrow: string }): VNode {
  return (
    <g class={`way ${way.late ? "late" : ""} ${taken ? "taken" : ""}`}>
      <title>{`${way.from} → ${way.to}: ${way.actions.join(", ")}`}</title>
      <path d={way.path} marker-end={`url(#${arrow}${taken ? "-taken" : ""})`} />
    </g>
  );
}

function WayLabel({ way, taken }: WayProps): VNode | null {
  if (!way.isLabelled && !taken) return null;
  const words = taken ? [taken.by] : way.actions;
  const most = way.anchor === "middle" && words.length < 4 ? 3 : 2;
  const lines = [words.slice(0, most).join(", "), words.slice(most).join(", ")].filter(Boolean);
  return (
    <g class={`way ${taken ? "taken" : ""}`}>
      <text x={way.label.x} y={way.label.y} text-anchor={way.anchor}>
        {lines.map((line, index) => (
          <tspan key={line} x={way.label.x} dy={index ? 12 : 0}>
            {line}
          </tspan>
        ))}
      </text>
    </g>
  );
}

function Arrow({ id }: { id: string }): VNode {
  return (
    <marker
      id={id}
      viewBox="0 0 8 8"
      refX="6"
      refY="4"
      markerWidth="6.5"
      markerHeight="6.5"
      orient="auto"
    >
      <path d="M0 0.5 7 4 0 7.5z" />
    </marker>
  );
}

function MachineFigure(props: {
  machine: Machine;
  title: string;
  lit: Lit;
  step: Step | undefined;
}): VNode {
  const { machine, title, lit, step } = props;
  const { width, height, nodes, ways } = drawingOf(machine);
  const { counts, other, moves } = lit;
  const arrow = `arrow-${machine.name}`;
  const ordered = [...ways].sort(
    (a, b) => Number(!!isTaken(a, moves)) - Number(!!isTaken(b, moves)),
  );
  const now = [...counts]
    .map(([name, count]) => (count > 1 ? `${count} ${name}` : name))
    .join(", ");
  const said = moves.length ? moves.map(moveInWords).join("; ") : stayedInWords(step);
  return (
    <figure class={`machine ${machine.name}`}>
      <h3>{title}</h3>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${title}: ${now || "none"}. ${said}.`}
      >
        <defs>
          <Arrow id={arrow} />
          <Arrow id={`${arrow}-taken`} />
        </defs>
        {ordered.map((way) => (
          <WayLine
            key={`${way.from}>${way.to}`}
            way={way}
            taken={isTaken(way, moves)}
            arrow={arrow}
          />
        ))}
        {ordered.map((way) => (
          <WayLabel key={`${way.from}>${way.to}`} way={way} taken={isTaken(way, moves)} />
        ))}
        {nodes.map((node) => {
          const count = counts.get(node.name) ?? 0;
          if (node.name === "none")
            return <circle key={node.name} class="origin" cx={node.x} cy={node.y} r={5} />;
          const box = { x: node.x - node.width / 2, y: node.y - NODE_HEIGHT / 2 };
          return (
            <g key={node.name} class={`node ${node.name} ${count ? "lit" : ""}`}>
              {other?.get(node.name) && (
                <rect
                  class="ring"
                  x={box.x - 4}
                  y={box.y - 4}
                  width={node.width + 8}
                  height={NODE_HEIGHT + 8}
                  rx={9}
                />
              )}
              <rect {...box} width={node.width} height={NODE_HEIGHT} rx={6} />
              <text x={node.x} y={node.y + 4} text-anchor="middle">
                {node.name}
              </text>
              {machine.name === "call" && count > 0 && (
                <g class="badge">
                  <circle cx={box.x + node.width} cy={box.y} r={8.5} />
                  <text x={box.x + node.width} y={box.y + 3.5} text-anchor="middle">
                    {count}
                  </text>
                </g>
              )}
            </g>
          );
        })}
      </svg>
      <figcaption>{said}</figcaption>
    </figure>
  );
}

const statusOf = (state: Json): Map<string, number> =>
  new Map([[(state as JsonObject).status as string, 1]]);

function callStates(state: Json): Map<string, number> {
  const counts = new Map<string, number>();
  for (const call of callsIn(state)) {
    const name = call.state as string;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** Both machines: where they are, and the way taken in this step. */
export function Diagrams(props: {
  machines: Machine[];
  step: Step | undefined;
  state: Json;
  other: Json | undefined;
}): VNode {
  const { machines, step, state, other } = props;
  return (
    <section class="machines" aria-label={WORDS.machines}>
      {machines.map((machine) => {
        const counted = machine.name === "session" ? statusOf : callStates;
        const lit = {
          counts: counted(state),
          other: other === undefined ? null : counted(other),
          moves: (step?.moves ?? []).filter((move) => move.machine === machine.name),
        };
        const title = machine.name === "session" ? WORDS.sessionMachine : WORDS.callMachine;
        return (
          <MachineFigure key={machine.name} machine={machine} title={title} lit={lit} step={step} />
        );
      })}
    </section>
  );
}
