/** The HTTP API as a command calls it: by an API key, patiently where something is to be followed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readClientConfig } from '@rapport/core/runtime/config.ts'
import { z } from 'zod'
import { CommandFailed, option, type CliContext, usageError } from './command.ts'

/** The options of every command that calls the API. */
export const apiOptions = {
  api: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .optional()
    .meta(option('<url>', 'Where the API is (default: RAPPORT_API_URL)')),
  key: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta(option('<rpk_…>', 'The API key (default: RAPPORT_API_KEY, which no list of processes shows)')),
}

export interface Api {
  readonly url: string
  /** Throws `ApiRefused` for every answer but a 2xx, and what fetch throws when there is none. */
  call(path: string, init?: RequestInit & { duplex?: 'half' }): Promise<unknown>
  /** A GET that outlasts an API which is away, restarts or limits: only Ctrl-C, or a refusal, ends it. */
  follow(path: string): Promise<unknown>
}

/** The API said no. The message is what it said, each issue with its place. */
export class ApiRefused extends CommandFailed {
  readonly status: number
  readonly issues: readonly { path: string; message: string }[]
  readonly retryAfterSeconds: number
  constructor(status: number, body: ErrorBody, retryAfterSeconds: number) {
    const issues = (body.issues ?? []).map(({ path, message }) => `\n  ${path}: ${message}`)
    super(`The API answered ${status}: ${body.message ?? 'nothing'}${issues.join('')}`)
    this.status = status
    this.issues = body.issues ?? []
    this.retryAfterSeconds = retryAfterSeconds
  }
}

interface ErrorBody {
  message?: string
  issues?: { path: string; message: string }[]
}

const patienceMs = 15_000
const pauseMs = 1_000

/** By options, the environment, or the local installation, in this order; its key is never sent anywhere else. */
export function openApi(cli: CliContext, options: { api?: string | undefined; key?: string | undefined }): Api {
  const config = readClientConfig(cli.environment)
  const [given, key = config.RAPPORT_API_KEY] = [
    options.api?.replace(/\/+$/, '') ?? config.RAPPORT_API_URL,
    options.key,
  ]
  const url = given ?? cli.local?.apiUrl
  if (url === undefined) throw usageError('--api or RAPPORT_API_URL is needed: where the API is')
  const credential = key ?? (url === cli.local?.apiUrl ? cli.local.apiKey : undefined)
  if (credential === undefined) throw usageError('--key or RAPPORT_API_KEY is needed: an API key (rpk_…)')

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
    throw new ApiRefused(response.status, body ?? { message: text.slice(0, 200) }, seconds)
  }

  async function follow(path: string): Promise<unknown> {
    for (let isAway = false; ; ) {
      const signal = AbortSignal.any([cli.stopping, AbortSignal.timeout(patienceMs)])
      try {
        const body = await call(path, { signal })
        if (isAway) cli.terminal.tell('The API answers again.')
        return body
      } catch (error) {
        cli.stopping.throwIfAborted()
        if (error instanceof ApiRefused && error.status !== 429 && error.status < 500) throw error
        const isLimited = error instanceof ApiRefused && error.status === 429
        if (!isAway && !isLimited) cli.terminal.tell(`${describeFailure(error)} Trying again until it does ...`)
        isAway ||= !isLimited
        await sleep(isLimited ? error.retryAfterSeconds * 1_000 : pauseMs, undefined, { signal: cli.stopping })
      }
    }
  }
  return { url, call, follow }
}

/** Why there was no answer, in a sentence. */
export function describeFailure(error: unknown): string {
  if (error instanceof ApiRefused) return `${error.message}.`
  return `The API does not answer (${reasonOf(error)}).`
}

/** What fetch knows of a failure hides in its cause. */
export function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown }
  if (!(cause instanceof Error)) return String(cause)
  if (cause.name === 'TimeoutError') return 'no answer in time'
  return (cause as NodeJS.ErrnoException).code ?? cause.message
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
