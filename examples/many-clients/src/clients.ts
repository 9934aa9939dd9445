/** The clients of the agency, and the API key of each one's workspace. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Rapport } from '@rapport/sdk'

export interface Client {
  /** The agency's own id. It names the call that creates the workspace, so that a repetition finds it. */
  id: string
  name: string
  ownerEmail: string
  domain: string
  host: string
  /** The maximum number of contacts. */
  contacts: number
}

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', DATA_DIR: folder = 'data' } = process.env
const { CLIENTS: list = 'clients.json' } = process.env

const clients = JSON.parse(readFileSync(list, 'utf8')) as Client[]

/** Does the same for each client. One that fails is named, and keeps none of the others from it. */
export async function forEachClient(work: (client: Client) => Promise<void>): Promise<void> {
  for (const client of clients)
    await work(client).catch((error: unknown) => {
      console.error(`${client.id}: ${String(error)}`)
      process.exitCode = 1
    })
}

const fileOf = ({ id }: Client) => join(folder, `${id}.key`)

/** Stores the API key of the client's workspace, for this user alone. */
export function saveKey(client: Client, key: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(client), key, { mode: 0o600 })
}

/** Returns undefined if the workspace has no key yet. */
export function connect(client: Client): Rapport | undefined {
  try {
    return new Rapport({ baseUrl, apiKey: readFileSync(fileOf(client), 'utf8') })
  } catch {
    return undefined
  }
}
