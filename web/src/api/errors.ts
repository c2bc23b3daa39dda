import type { components } from "./schema";

type ErrorBody = components["schemas"]["ErrorBody"];

/** ApiError is an error response of the gateway, or a failure to reach it (code UNREACHABLE). */
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

  /** Validation messages by field name. */
  get problems(): Record<string, string> {
    return Object.fromEntries((this.details.problems ?? []).map((p) => [p.param, p.message]));
  }

  get retryable(): boolean {
    return this.code === "UNREACHABLE" || this.details.retryable === true;
  }
}

/** Parses an error response. A body in another format, such as a proxy's error page, is reported by its status. */
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
    "UNEXPECTED_RESPONSE",
    `The gateway or a proxy in front of it returned status ${response.status} without an error message.`,
    response.status,
    id,
  );
}

/** Converts any thrown value to an ApiError. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  return new ApiError("PAGE_ERROR", error instanceof Error ? error.message : String(error), 0, "");
}
