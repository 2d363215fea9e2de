#!/usr/bin/env node
import { commandMain } from './command.ts'

process.exitCode = await commandMain(process.argv.slice(2))
