/** Reads mails for mail-parser.ts, one response per mail. */
import { isMainThread, parentPort } from 'node:worker_threads'
import { readMail } from './parse-report.ts'

if (!isMainThread) {
  parentPort?.on('message', (raw: Uint8Array) => void readMail(raw).then((content) => parentPort?.postMessage(content)))
  parentPort?.postMessage('ready')
}
