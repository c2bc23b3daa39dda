import type { components } from "./schema";

type ErrorBody = components["schemas"]["ErrorBody"];

/** ApiError is an error as the gateway tells it, or one of the way to it (code UNREACHABLE). */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly requestId: string,
    readonly details: Partial<ErrorBody["details"]> & Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** What is wrong with each field of a form, by the field's name. */
  get problems(): Record<string, string> {
    return Object.fromEntries((this.details.problems ?? []).map((p) => [p.param, p.message]));
  }

  get retryable(): boolean {
    return this.code === "UNREACHABLE" || this.details.retryable === true;
  }
}

/** Reads an error answer; one that is not of our shape (a proxy's page, say) is told by its status. */
export async function readError(response: Response): Promise<ApiError> {
  const id = response.headers.get("x-request-id") ?? "";
  try {
    const body = (await response.json()) as ErrorBody;
    if (typeof body.error === "string" && typeof body.code === "string") {
      return new ApiError(
        body.code,
        body.error,
        response.status,
        body.details?.request_id || id,
        body.details,
      );
    }
  } catch {
    // Not JSON.
  }
  return new ApiError(
    "UNEXPECTED_ANSWER",
    `The gateway, or something before it, answered with status ${response.status} and no reason.`,
    response.status,
    id,
  );
}

/** Makes an ApiError of whatever was thrown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  return new ApiError("PAGE_ERROR", error instanceof Error ? error.message : String(error), 0, "");
}
