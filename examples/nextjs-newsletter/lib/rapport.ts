import 'server-only'
import { Rapport } from '@rapport/sdk'

let client: Rapport | undefined

/** The client of the API. Created on first use, as a build needs neither the address nor the key. */
export function getRapport(): Rapport {
  const { RAPPORT_API_URL: baseUrl, RAPPORT_API_KEY: apiKey } = process.env
  if (!baseUrl || !apiKey) throw new Error('RAPPORT_API_URL and RAPPORT_API_KEY: are required')
  return (client ??= new Rapport({ baseUrl, apiKey, timeoutMs: 5_000 }))
}
