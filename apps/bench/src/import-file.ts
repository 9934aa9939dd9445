/** A generated file of contacts to import, the same in every run. */
import { Readable } from 'node:stream'
import { call, type Server } from './installation.ts'
import { waitUntil } from './processes.ts'

interface Person {
  email: string
  first: string
  last: string
  phone: string
  company: string
  tags: string[]
  plan: string
}

interface Import {
  id: string
  status: string
  created: number
}

interface ImportFile {
  count: number
  /** How many companies the contacts belong to, which the import creates. */
  companies?: number
}

/** Uploads a file of contacts and waits until the import has ended. */
export async function importContacts(
  { url }: Pick<Server, 'url'>,
  key: string,
  { count, companies = 0 }: ImportFile,
): Promise<void> {
  await call({ url }, key, ['POST /custom-fields', { key: 'plan', label: 'Plan', type: 'TEXT' }])
  const response = await fetch(`${url}/contacts/import${companies > 0 ? '?createCompanies=true' : ''}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
    body: Readable.toWeb(Readable.from(toCsv({ count, companies }))),
    duplex: 'half',
  })
  if (response.status !== 202) throw new Error(await response.text())
  const { id } = (await response.json()) as Import
  const readEndedImport = async () => {
    const record = await call<Import>({ url }, key, [`GET /imports/${id}`])
    return ['COMPLETED', 'FAILED'].includes(record.status) && record
  }
  const record = await waitUntil(readEndedImport, { everyMs: 100 })
  if (record.created !== count) throw new Error(JSON.stringify(record))
}

/** The same contacts as lines for COPY, with the columns that importing.ts names. */
export function toCopyLines(count: number, workspaceId: string): Iterable<string> {
  return toBlocks(generateContacts(count), (person) => {
    const tags = `{${person.tags.map((tag) => `"${tag}"`).join()}}`
    const plan = JSON.stringify({ plan: person.plan })
    const cells = [person.email, person.first, person.last, person.phone, person.company, tags, 'bench', plan]
    return `${workspaceId}\t${crypto.randomUUID()}\t${cells.join('\t')}\n`
  })
}

/** The contacts as a CSV file, in blocks. */
export function* toCsv({ count, companies = 0 }: ImportFile): Generator<Uint8Array> {
  const names = 'email,First Name,Last Name,phone,company,tags,source,customField.plan'
  yield Buffer.from(`${names}${companies > 0 ? ',companyDomain' : ''}\n`)
  let row = 0
  const lines = toBlocks(generateContacts(count), ({ email, first, last, phone, company, tags, plan }) => {
    const domain = companies > 0 ? [`company-${row++ % companies}.example`] : []
    const cells = [email, first, last, phone, `"${company}"`, tags.join(';'), 'bench', plan, ...domain]
    return cells.join(',').concat('\n')
  })
  for (const block of lines) yield Buffer.from(block)
}

function* generateContacts(count: number): Generator<Person> {
  const syllables = 'ka ro mi ten sal vo ber lin an da gu sto pe tra li no wer fis ha jo'.split(' ')
  let state = 42
  const random = (below: number) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below
  const word = (length: number) => Array.from({ length }, () => syllables[random(20)]).join('')
  for (let index = 0; index < count; index += 1) {
    const [first, last] = [word(2 + random(2)), word(2 + random(3))]
    yield {
      email: `${first}.${last}${index}@${word(3)}.example`,
      first,
      last,
      phone: `+49 30 ${1_000_000 + random(8_999_999)}`,
      company: `${word(3)} ${word(2)}`,
      tags: [`group ${random(10)}`, `region ${random(50)}`],
      plan: ['free', 'pro', 'team'][random(3)] ?? '',
    }
  }
}

function* toBlocks(people: Iterable<Person>, toLine: (person: Person) => string): Generator<string> {
  let block = ''
  for (const person of people) {
    block += toLine(person)
    if (block.length < 65_536) continue
    yield block
    block = ''
  }
  yield block
}
