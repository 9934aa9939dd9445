/** Imports a CSV file of any size, shows the progress, and prints the lines with an error. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Rapport } from '@rapport/sdk'

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

const shipped = resolve(import.meta.dirname, '../contacts.csv')
// pnpm runs this program in the folder of the example. INIT_CWD is the folder in which you called pnpm.
const file = process.argv[2] ? resolve(process.env['INIT_CWD'] ?? '', process.argv[2]) : shipped

const rapport = new Rapport({ baseUrl, apiKey })
// A function, so that the SDK can open the file again if the connection is lost.
const { id } = await rapport.imports.create({ csv: () => createReadStream(file) }, { onConflict: 'update' })
const done = await rapport.imports.wait(id, {
  pollMs: 200,
  onProgress: ({ status, processed }) => console.log(`${status} ${processed} rows`),
})

console.log(`${done.created} created, ${done.updated} updated, ${done.skipped} unchanged, ${done.failed} failed`)
const messages = new Map(done.errors.map(({ line, message }) => [line, message]))
let number = 0
for await (const text of (await open(file)).readLines()) {
  const message = messages.get(++number)
  if (!message) continue
  console.log(`  line ${number}: ${message}`)
  // With an open quotation mark, the row continues on the next line.
  if (text.split('"').length % 2 === 1) console.log(`    ${text}`)
}
// The import keeps the first 100 errors, but counts all.
if (done.failed > done.errors.length) console.log(`  and ${done.failed - done.errors.length} more`)
