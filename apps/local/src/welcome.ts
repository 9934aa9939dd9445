import { styleText } from 'node:util'
import { version } from '@rapport/core/runtime/version.ts'

/** Everything one needs to know to begin. */
export interface Started {
  readonly apiUrl: string
  /** Under which name strangers reach the API, when that is another. */
  readonly publicUrl: string | undefined
  readonly dashboardUser: string
  readonly dashboardPassword: string
  /** Undefined when mails go to a server of the user's own. */
  readonly inboxUrl: string | undefined
  /** Undefined when the database is the user's own. */
  readonly databaseUrl: string | undefined
  readonly apiKey: string
  readonly dataDirectory: string
}

/** The text that is shown when everything is up. */
export function welcome(started: Started): string {
  const { apiUrl, apiKey } = started
  const rows: [string, string | undefined, string?][] = [
    ['API', apiUrl],
    ['Public', started.publicUrl],
    ['Reference', `${apiUrl}/docs`],
    ['Dashboard', `${apiUrl}/queues`, `user ${started.dashboardUser}, password ${started.dashboardPassword}`],
    ['Inbox', started.inboxUrl, 'the last 1,000 mails of Rapport; as JSON at /email?limit=20'],
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
    `      -d '{"email": "ada@example.com", "firstName": "Ada"}'`,
    '',
    `  ${styleText('dim', `Data are kept in ${started.dataDirectory}. Ctrl-C stops everything.`)}`,
    '',
  ].join('\n')
}
