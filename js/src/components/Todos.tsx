import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { memo } from "../memo";
import type { Todo } from "../protocol";
import { visible } from "../text/escapes";
import { Check, Chevron, Current, Pending } from "./Icons";

const ICONS: Record<Todo["status"], () => VNode> = {
  pending: Pending,
  in_progress: Current,
  completed: Check,
};

const WORDS: Record<Todo["status"], string> = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};

interface Props {
  todos: Todo[];
  /** A question is open: it gets the space, until the person says otherwise. */
  asking: boolean;
}

/** The assistant's plan as a checklist; closed it tells how far it is and what is being done. */
export const Todos = memo(({ todos, asking }: Props): VNode => {
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? !asking;
  const done = todos.filter((todo) => todo.status === "completed").length;
  const current = todos.find((todo) => todo.status === "in_progress");
  return (
    <section class="todos" aria-label="Plan">
      <button type="button" class="todos-head" aria-expanded={open} onClick={() => choose(!open)}>
        <span class="card-chevron">
          <Chevron />
        </span>
        <span>
          Plan: {done} of {todos.length} done
        </span>
        {!open && current && <span class="todos-current">{visible(current.content)}</span>}
      </button>
      {open && (
        <ol tabIndex={0} aria-label="Steps of the plan">
          {todos.map((todo, index) => {
            const Icon = ICONS[todo.status] ?? Pending;
            return (
              <li key={index} class={todo.status}>
                <Icon />
                <span dir="auto">{visible(todo.content)}</span>
                <span class="sr">({WORDS[todo.status] ?? todo.status})</span>
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
});
