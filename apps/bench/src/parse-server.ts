/** Parse Server, a comparable backend with records and webhooks, installed from npm into a temporary folder. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './install-packages.ts'
import { type Installation } from './installation.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { isResponding, waitUntil } from './processes.ts'

const version = '9.10.0'
const appId = 'bench'
const [restAPIKey, masterKey] = ['for measuring only', 'only for measuring']
const headers = { 'x-parse-application-id': appId, 'x-parse-rest-api-key': restAPIKey }

const program = `
const { ParseServer } = require('parse-server')
const express = require('express')
const { port, ...options } = JSON.parse(process.argv[2])
const server = new ParseServer(options)
server.start().then(() => express().use('/parse', server.app).listen(port, '127.0.0.1'))
process.on('disconnect', () => process.kill(process.pid))`

export interface ParseServer {
  url: string
  headers: Record<string, string>
  /** Creates a webhook that is called for every saved contact. */
  createWebhook(url: string): Promise<void>
}

/** The URL of its database, on the same PostgreSQL server. */
export function parseDatabase({ environment }: Installation): string {
  return (environment['DATABASE_URL'] ?? '').replace(/\w+$/, 'parse')
}

export async function withParseServer<Result>(
  installation: Installation,
  work: (server: ParseServer) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-peer-'))
  try {
    await installPackages(folder, [`parse-server@${version}`])
    await writeFile(join(folder, 'server.cjs'), program)
    await installation.client.query('create database parse')
    const port = await findFreePort()
    const url = `http://127.0.0.1:${port}`
    const options = {
      // The same number of connections as an API process.
      databaseURI: `${parseDatabase(installation)}?max=20`,
      appId,
      restAPIKey,
      masterKey,
      serverURL: `${url}/parse`,
      silent: true,
      logLevel: 'error',
      allowClientClassCreation: true,
    }
    const parameters = [JSON.stringify({ ...options, port })]
    installation.processes.fork(join(folder, 'server.cjs'), { parameters, cwd: folder, env: {}, stdio: 'ignore' })
    await waitUntil(() => isResponding(`${url}/parse/health`), { timeoutMs: 60_000 })

    async function createWebhook(address: string) {
      const response = await fetch(`${url}/parse/hooks/triggers`, {
        method: 'POST',
        headers: {
          'x-parse-application-id': appId,
          'x-parse-master-key': masterKey,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ className: 'Contact', triggerName: 'afterSave', url: address }),
      })
      if (!response.ok) throw new Error(await response.text())
    }
    return await work({ url, headers, createWebhook })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
