<#
.SYNOPSIS
Starts the services that the examples of the help call, in this PowerShell process.
.DESCRIPTION
inproc://search has the service of protos/search.proto, and inproc://library that of examples/library.proto.
Both end with the session, or with: Get-RpcListener | Stop-RpcListener
.EXAMPLE
Set-Location (Get-Module ProtoRpc).ModuleBase; ./examples/samples.ps1
#>
[CmdletBinding()]
param()

$ErrorActionPreference = 'Stop'
$root = Split-Path $PSScriptRoot
Import-Module (Join-Path $root ProtoRpc.psd1)

# A second run replaces the services of the first.
Get-RpcListener | Where-Object { "$($_.Endpoint)" -in 'inproc://search', 'inproc://library' } |
    Stop-RpcListener -DrainTimeout 0

$null = Start-RpcListener inproc://search -Schema (Join-Path $root protos search.proto) -Handler @{
    Search = {
        param($Request)
        @{ result = @{ url = "https://example.com/$($Request.query)"; title = "About $($Request.query)" } }
    }
}

$books = @(
    @{ name = 'books/1'; title = 'Emma'; author = 'Jane Austen' }
    @{ name = 'books/2'; title = 'Dracula'; author = 'Bram Stoker' }
    @{ name = 'books/3'; title = 'Ulysses'; author = 'James Joyce' }
)
$null = Start-RpcListener inproc://library -Schema (Join-Path $PSScriptRoot library.proto) -Handler @{
    GetBook = {
        param($Request)
        $books = $using:books
        $found = @($books | Where-Object { $_.name -eq $Request.name })
        if ($found.Count -eq 0) {
            throw [ProtoRpc.RpcException]::new('NotFound', "There is no book '$($Request.name)'.")
        }
        $found[0]
    }
    ListBooks = {
        param($Request)
        $books = $using:books
        $size = $Request.page_size -gt 0 ? $Request.page_size : 2
        $first = [int] $Request.page_token
        $next = $first + $size
        @{
            books = @($books | Select-Object -Skip $first -First $size)
            next_page_token = $next -lt $books.Count ? "$next" : ''
        }
    }
    WatchBooks = {
        $books = $using:books
        while ($true) {
            foreach ($book in $books) {
                $book
                Start-Sleep -Milliseconds 100
            }
        }
    }
    AddBooks = { @{ count = ($Request | Measure-Object).Count } }
    Ask = { foreach ($question in $Request) { @{ text = "You asked: $($question.text)" } } }
}
