/** The names of the task types. */
export const taskLabels: Record<string, string> = {
  short: "Short answers",
  chat: "Writing and chat",
  knowledge: "Knowledge",
  maths: "Maths and logic",
  code: "Code",
  agents: "Agents and tools",
};

/** The name of a task type. */
export function taskLabel(task: string): string {
  return taskLabels[task] ?? task;
}
