import { runWorker } from './process/run-worker.ts'

await runWorker()
