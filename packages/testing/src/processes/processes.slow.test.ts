import { expect, test } from 'vitest'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { killStartedProcesses, startCommand, startProcess } from './processes.ts'

const command = process.execPath
const serve = `
  const server = require('node:http').createServer((request, response) => response.end(JSON.stringify(process.env)))
  server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening on', server.address().port))`

test('a process is ready when readyPattern matches, and has only the given variables', async () => {
  const env = { PORT: '0' }
  const server = await startCommand({ command, parameters: ['-e', serve], env, readyPattern: /listening on (\d+)/ })
  const response = await fetch(`http://127.0.0.1:${server.ready?.[1]}`)
  expect(Object.keys((await response.json()) as object).toSorted()).toEqual(['NODE_COMPILE_CACHE', 'PATH', 'PORT'])
  server.kill()
  expect(await server.exited).toEqual({ code: null, signal: 'SIGTERM' })
  expect(server.isRunning).toBe(false)
})

test('a process is ready when readyUrl responds, and is killed at the end of the file', async () => {
  const port = await findFreePort()
  const readyUrl = `http://127.0.0.1:${port}/`
  const server = await startCommand({ command, parameters: ['-e', serve], env: { PORT: String(port) }, readyUrl })
  await killStartedProcesses()
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a signal to a group ends the processes that the command started too', async () => {
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}/`
  const parameters = ['-c', `${command} -e "${serve.replaceAll('\n', ';')}"; true`]
  const env = { PORT: String(port) }
  const shell = await startCommand({ command: 'sh', parameters, env, isGroup: true, readyUrl: url })
  shell.kill()
  expect(await shell.exited).toEqual({ code: null, signal: 'SIGTERM' })
  await expect(fetch(url)).rejects.toThrow('fetch failed')
})

test('a process that exits before it is ready fails with its output', async () => {
  const starting = startProcess({ script: 'apps/none/src/main.ts', env: {}, readyPattern: /never/ })
  await expect(starting).rejects.toThrow(/exited with code 1 before it was ready; output:[^]*Cannot find module/)
})

test('a process that never becomes ready is killed and fails with its output', async () => {
  const parameters = ['-e', `console.log('still starting'); setInterval(() => {}, 1000)`]
  const starting = startCommand({ command, parameters, readyPattern: /done/, timeoutMs: 500 })
  await expect(starting).rejects.toThrow(/Timed out after 500 ms[^]*still starting/)
})
