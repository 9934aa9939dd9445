import { expect, test } from 'vitest'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { killStartedProcesses, startCommand, startProcess } from './processes.ts'

const command = process.execPath
const serve = `
  const server = require('node:http').createServer((request, response) => response.end(JSON.stringify(process.env)))
  server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening on', server.address().port))`

test('a process is ready when it says so, has the given environment and PATH, and tells how it ended', async () => {
  const env = { PORT: '0' }
  const server = await startCommand({ command, parameters: ['-e', serve], env, readyPattern: /listening on (\d+)/ })
  const answer = await fetch(`http://127.0.0.1:${server.ready?.[1]}`)
  expect(Object.keys((await answer.json()) as object).toSorted()).toEqual(['PATH', 'PORT'])
  server.kill()
  expect(await server.exited).toEqual({ code: null, signal: 'SIGTERM' })
  expect(server.isRunning).toBe(false)
})

test('a process is ready when its address answers, and does not outlive its file', async () => {
  const port = await findFreePort()
  const readyUrl = `http://127.0.0.1:${port}/`
  const server = await startCommand({ command, parameters: ['-e', serve], env: { PORT: String(port) }, readyUrl })
  await killStartedProcesses()
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a process that ends before it is ready fails with what it printed', async () => {
  const starting = startProcess({ script: 'apps/none/src/main.ts', env: {}, readyPattern: /never/ })
  await expect(starting).rejects.toThrow(/ended with code 1 before it was ready; it printed:[^]*Cannot find module/)
})

test('a process that is never ready is killed, and fails with what it printed', async () => {
  const parameters = ['-e', `console.log('still at it'); setInterval(() => {}, 1000)`]
  const starting = startCommand({ command, parameters, readyPattern: /done/, timeoutMs: 500 })
  await expect(starting).rejects.toThrow(/Waited 500 ms in vain[^]*still at it/)
})
