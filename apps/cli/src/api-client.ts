/** HTTP client of the commands. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readClientConfig } from '@rapport/core/runtime/config.ts'
import { z } from 'zod'
import { CommandFailed, option, type CliContext, usageError } from './command.ts'

/** The options of every command that calls the API. */
export const apiOptions = {
  api: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta(option('<url>', 'URL of the API (default: RAPPORT_API_URL)')),
  key: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta(option('<rpk_…>', 'API key (default: RAPPORT_API_KEY, which keeps it out of process lists)')),
}

export interface Api {
  readonly url: string
  /** Throws `ApiError` unless the response is 2xx, and the error of fetch if there is no response. */
  call(path: string, init?: RequestInit & { duplex?: 'half' }): Promise<unknown>
  /** Sends a GET request. Retries while the API is unavailable or returns 429; stops on Ctrl-C and on other errors. */
  getWithRetry(path: string): Promise<unknown>
}

/** The API responded with an error. The message contains the API's message and all issues with their paths. */
export class ApiError extends CommandFailed {
  readonly status: number
  readonly issues: readonly { path: string; message: string }[]
  readonly retryAfterSeconds: number
  constructor(status: number, body: ErrorBody, retryAfterSeconds: number) {
    const issues = (body.issues ?? []).map(({ path, message }) => `\n  ${path}: ${message}`)
    super(`The API returned ${status}: ${body.message ?? 'no message'}${issues.join('')}`)
    this.status = status
    this.issues = body.issues ?? []
    this.retryAfterSeconds = retryAfterSeconds
  }
}

interface ErrorBody {
  message?: string
  issues?: { path: string; message: string }[]
}

const requestTimeoutMs = 15_000
const retryDelayMs = 1_000

/** Takes URL and key from options, environment or local installation. The local key is sent only to the local API. */
export function openApi(cli: CliContext, options: { api?: string | undefined; key?: string | undefined }): Api {
  const config = readClientConfig(cli.environment)
  const key = options.key ?? config.RAPPORT_API_KEY
  const url = options.api?.replace(/\/+$/, '') ?? config.RAPPORT_API_URL ?? cli.local?.apiUrl
  if (url === undefined) throw usageError('--api or RAPPORT_API_URL is required: the URL of the API')
  const credential = key ?? (url === cli.local?.apiUrl ? cli.local.apiKey : undefined)
  if (credential === undefined) throw usageError('--key or RAPPORT_API_KEY is required: an API key (rpk_…)')

  async function call(path: string, init: RequestInit = {}): Promise<unknown> {
    const response = await fetch(url + path, {
      redirect: 'manual',
      ...init,
      headers: { authorization: `Bearer ${credential}`, ...(init.headers as Record<string, string>) },
    })
    const text = await response.text()
    const body = parseJson(text) as ErrorBody | undefined
    if (response.ok && body !== undefined) return body
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    throw new ApiError(response.status, body ?? { message: text.slice(0, 200) }, seconds)
  }

  async function getWithRetry(path: string): Promise<unknown> {
    for (let isUnavailable = false; ; ) {
      const signal = AbortSignal.any([cli.stopping, AbortSignal.timeout(requestTimeoutMs)])
      try {
        const body = await call(path, { signal })
        if (isUnavailable) cli.terminal.log('The API is available again.')
        return body
      } catch (error) {
        cli.stopping.throwIfAborted()
        if (error instanceof ApiError && error.status !== 429 && error.status < 500) throw error
        const isLimited = error instanceof ApiError && error.status === 429
        if (!isUnavailable && !isLimited) cli.terminal.log(`${describeFailure(error)} Retrying ...`)
        isUnavailable ||= !isLimited
        await sleep(isLimited ? error.retryAfterSeconds * 1_000 : retryDelayMs, undefined, { signal: cli.stopping })
      }
    }
  }
  return { url, call, getWithRetry }
}

/** Describes in a sentence why the request failed. */
export function describeFailure(error: unknown): string {
  if (error instanceof ApiError) return `${error.message}.`
  return `The API does not respond (${reasonOf(error)}).`
}

/** The error of fetch has the actual reason in its cause. */
export function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown }
  if (!(cause instanceof Error)) return String(cause)
  if (cause.name === 'TimeoutError') return 'timed out'
  return (cause as NodeJS.ErrnoException).code ?? cause.message
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
