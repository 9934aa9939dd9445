/** Creates a form, writes a static page that embeds it, and serves the page. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Rapport } from '@rapport/sdk'
import { findOrCreateForm } from './create-form.ts'

const { RAPPORT_API_URL: apiUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey, PORT: port = '4100' } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

// The page contains the id of the form. The API key stays here: it must not reach a browser.
const form = await findOrCreateForm(new Rapport({ baseUrl: apiUrl, apiKey }))

const folder = join(import.meta.dirname, '..')
const template = await readFile(join(folder, 'page.html'), 'utf8')
const page = template.replaceAll('{{ apiUrl }}', apiUrl).replaceAll('{{ formId }}', form.id)
await mkdir(join(folder, 'site'), { recursive: true })
await writeFile(join(folder, 'site/index.html'), page)

// Any web server can serve the page.
createServer((_request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8').end(page)
}).listen(Number(port), 'localhost', () => console.log(`The page is at http://localhost:${port}/`))
