/** How the commands find the API and its key. */
import { readClientConfig } from '@rapport/core/runtime/config.ts'
import { Rapport, type RapportError, RateLimitError } from '@rapport/sdk'
import { z } from 'zod'
import { option, type CliContext, usageError } from './command.ts'
import { describeApiFailure } from './describe-error.ts'

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
  readonly rapport: Rapport
}

/**
 * Takes URL and key from options, environment or local installation. The local key is sent only to the local API. With
 * `shouldRetryForever`, requests are repeated until Ctrl-C while the API is unavailable, and outages are reported.
 * Otherwise a command fails after the retries of the SDK.
 */
export function openApi(
  cli: CliContext,
  options: { api?: string | undefined; key?: string | undefined },
  { shouldRetryForever = false } = {},
): Api {
  const config = readClientConfig(cli.environment)
  const key = options.key ?? config.RAPPORT_API_KEY
  const url = options.api?.replace(/\/+$/, '') ?? config.RAPPORT_API_URL ?? cli.local?.apiUrl
  if (url === undefined) throw usageError('--api or RAPPORT_API_URL is required: the URL of the API')
  const apiKey = key ?? (url === cli.local?.apiUrl ? cli.local.apiKey : undefined)
  if (apiKey === undefined) throw usageError('--key or RAPPORT_API_KEY is required: an API key (rpk_…)')
  try {
    const retries = shouldRetryForever ? { maxRetries: Infinity, ...reportOutages(cli) } : {}
    return { url, rapport: new Rapport({ baseUrl: url, apiKey, ...retries }) }
  } catch (error) {
    throw usageError((error as TypeError).message)
  }
}

/** Leaves out what was not given: the requests of the SDK have no undefined fields. */
export function givenOf<Options extends object>(options: Options) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [Name in keyof Options]: Exclude<Options[Name], undefined> }
}

/** Reports the first failure of an outage, and its end. A 429 is no outage. */
function reportOutages({ terminal }: CliContext) {
  let isUnavailable = false
  return {
    onRetry(error: RapportError) {
      if (isUnavailable || error instanceof RateLimitError) return
      isUnavailable = true
      terminal.log(`${describeApiFailure(error)}. Retrying ...`)
    },
    async fetch(...request: Parameters<typeof fetch>) {
      const response = await fetch(...request)
      if (isUnavailable && response.ok) {
        isUnavailable = false
        terminal.log('The API is available again.')
      }
      return response
    },
  }
}
