import { styleText } from 'node:util'
import { version } from '@rapport/core/runtime/version.ts'

/** The details of a running installation. */
export interface Started {
  readonly apiUrl: string
  /** PUBLIC_URL, if it differs from `apiUrl`. */
  readonly publicUrl: string | undefined
  /** Of the dashboard and the inbox. */
  readonly user: string
  readonly password: string
  /** Undefined if SMTP_URL is set. */
  readonly inboxUrl: string | undefined
  /** Undefined if DATABASE_URL is set. */
  readonly databaseUrl: string | undefined
  readonly apiKey: string
  readonly dataDirectory: string
}

/** Returns the text that is printed when everything is ready. */
export function welcome(started: Started): string {
  const { apiUrl, apiKey } = started
  const rows: [string, string | undefined, string?][] = [
    ['API', apiUrl],
    ['Public', started.publicUrl],
    ['Reference', `${apiUrl}/docs`],
    ['Dashboard', `${apiUrl}/queues`, `user ${started.user}, password ${started.password}`],
    ['Inbox', started.inboxUrl, 'same user and password; the last 1,000 emails; as JSON at /email?limit=20'],
    ['Database', started.databaseUrl],
    ['API key', apiKey],
  ]
  const shown = rows.filter(([, value]) => value !== undefined)
  const width = Math.max(...shown.filter(([, , note]) => note).map(([, value]) => value?.length ?? 0))
  const lines = shown.map(([label, value = '', note]) =>
    note
      ? `    ${label.padEnd(11)}${value.padEnd(width)}   ${styleText('dim', note)}`
      : `    ${label.padEnd(11)}${value}`,
  )
  return [
    '',
    `  ${styleText('bold', `Rapport ${version} is running.`)}`,
    '',
    ...lines,
    '',
    '  Try it:',
    '',
    `    curl ${apiUrl}/contacts \\`,
    `      -H 'Authorization: Bearer ${apiKey}' \\`,
    `      -H 'Content-Type: application/json' \\`,
    `      -d '{"email": "charles@example.com", "firstName": "Charles"}'`,
    '',
    `  ${styleText('dim', `Data is stored in ${started.dataDirectory}. Press Ctrl-C to stop.`)}`,
    '',
  ].join('\n')
}
