/** A CSV file of contacts with many edge cases. */
import { countRuns } from '@rapport/testing/runs.ts'

const firstNames = [
  'Ada',
  'Zoë',
  'José',
  'Łukasz',
  'Søren',
  'Nguyễn',
  'أمينة',
  '美咲',
  "Seán 'Red'",
  'Ann-Marie',
  'Дмитрий',
  'François',
]
const lastNames = [
  "O'Neill",
  'Müller',
  'Smith, Jr.',
  'García "Lolo" Márquez',
  'Ødegård',
  'van der Berg',
  'Kowalski',
  'Çelik',
  '=SUM(A1)',
  '-Ito',
]
const companies = ['Müller & Söhne; GmbH', 'Analytical "Engines" Ltd', '', 'ACME, Inc.', '@home']

const rowCount = countRuns({ gate: 1_000, full: 3_000 })
const faults: Record<number, string> = {
  100: 'not an address',
  200: '',
  300: 'two@@example.com',
  400: `${'x'.repeat(70)}@example.com`,
}

export interface ContactsFile {
  csv: string
  rows: number
  /** The first lines of the rows with an invalid email address. */
  faultyLines: number[]
  duplicates: number
}

/** Has a BOM, CRLF, semicolons, quoted cells with line breaks, duplicates and invalid rows. Deterministic. */
export function createContactsFile(): ContactsFile {
  const lines = ['E-Mail;First Name;last_name;Company;Phone;Tags;Plan;Seats;Note']
  const faultyLines: number[] = []
  let line = 2
  let duplicates = 0
  for (let n = 1; n <= rowCount; n += 1) {
    // Repeats the previous row, unless that row is invalid.
    const isDuplicate = n % 50 === 0 && !(n in faults) && (n - 1) % 97 !== 0
    const email = faults[n] ?? `Person${isDuplicate ? n - 1 : n}@Example.com`
    if (n in faults) faultyLines.push(line)
    if (isDuplicate) duplicates += 1
    const cells = [
      email,
      firstNames[n % firstNames.length] ?? '',
      lastNames[n % lastNames.length] ?? '',
      companies[n % companies.length] ?? '',
      n % 3 ? `+49 30 ${100_000 + n}` : '',
      n % 4 ? 'customer;"north, south"' : '',
      n % 2 ? 'pro' : 'free',
      String(n % 7),
      n % 97 ? '' : 'Called twice.\r\nSays "never; again".',
    ]
    const row = cells.map(quoted).join(';')
    lines.push(row)
    line += row.split('\r\n').length
  }
  return { csv: `\uFEFF${lines.join('\r\n')}\r\n`, rows: rowCount, faultyLines, duplicates }
}

function quoted(cell: string): string {
  return /[";\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
