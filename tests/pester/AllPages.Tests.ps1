. (Join-Path $PSScriptRoot common.ps1)

Describe 'Invoke-RpcMethod -All' {
    BeforeAll {
        $proto = Join-Path $TestProtos pages.proto
        $Global:pageCalls = [System.Collections.Concurrent.ConcurrentQueue[string]]::new()
        # 1,000 books in pages of page_size; what a shelf says is what the server does.
        $list = {
            param($Request)
            ($using:pageCalls).Enqueue("$($Request.page_token)")
            $at = [int]($Request.page_token -as [int])
            $size = $Request.page_size -gt 0 ? $Request.page_size : 10
            switch ($Request.shelf) {
                'again' { return @{ books = @{ title = 'same' }; next_page_token = 'again' } }
                'circle' { return @{ books = @{ title = "c$at" }; next_page_token = "$(1 + $at % 3)" } }
                'endless' { return @{ books = @{ title = "e$at" }; next_page_token = "$($at + 1)" } }
                'broken' { if ($at -ge 20) { throw [ProtoRpc.RpcException]::new('PermissionDenied', 'No further.') } }
                'slow' { [Threading.Thread]::Sleep(150); if ($at -ge 50) { return @{} } }
                'part' { return @{ books = @{ title = 'a' }; unreachable = 'eu', "us`e[31m" } }
                'empty' { return @{ next_page_token = $at -lt 5 ? "$($at + 1)" : '' } }
                'all' { return @{ books = @{ title = "all $($Request.all)" } } }
            }
            $count = $Request.shelf -eq 'large' ? 100000 : 1000
            @{
                books = @(for ($i = $at; $i -lt [Math]::Min($count, $at + $size); $i++) { @{ title = "b$i"; year = $i } })
                next_page_token = $at + $size -lt $count ? "$($at + $size)" : ''
            }
        }
        $listener = Start-RpcListener "inproc://$(New-TestName)", 'grpc://127.0.0.1:0' -Schema $proto -Handler @{
            ListBooks = $list
            ListGenres = { param($Request) @{ genres = 'GENRE_NOVEL', 0, 7; next_page_token = $Request.page_token ? '' : 'two' } }
            ListTwo = { @{} }
            ListUnpaged = { @{} }
            WatchBooks = { @{} }
        }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto
    }

    AfterAll {
        Clear-Test
        Remove-Variable pageCalls -Scope Global
    }

    BeforeEach { $pageCalls.Clear() }

    It 'writes the elements of all pages' {
        $books = $rpc | Invoke-RpcMethod ListBooks @{ page_size = 300 } -All

        $books | Should -HaveCount 1000
        $books[0].PSTypeNames[0] | Should -Be 'ProtoRpc.Message#pages.Book'
        $books[999].title | Should -Be 'b999'
        $pageCalls | Should -Be '', '300', '600', '900'
    }

    It 'begins at a given page' {
        ($rpc | Invoke-RpcMethod ListBooks @{ page_size = 4; page_token = '994' } -All).title | Should -Be (994..999 | ForEach-Object { "b$_" })
    }

    It 'calls no page that the pipeline does not need' {
        $books = $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'endless' } -All | Select-Object -First 3

        $books.title | Should -Be 'e0', 'e1', 'e2'
        $pageCalls | Should -HaveCount 3
    }

    It 'writes hashtables, messages and values of other kinds' {
        ($rpc | Invoke-RpcMethod ListBooks @{ shelf = 'part' } -All -AsHashtable -WarningAction Ignore)['title'] | Should -Be 'a'
        $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'part' } -All -Raw -WarningAction Ignore | Should -BeOfType ProtoRpc.DynamicMessage
        $rpc | Invoke-RpcMethod ListGenres -All | Should -Be 'GENRE_NOVEL', 'GENRE_UNKNOWN', 7, 'GENRE_NOVEL', 'GENRE_UNKNOWN', 7
    }

    It 'is a list for each object of the pipeline' {
        $books = @{ shelf = 'part' }, @{ page_size = 500 } | Invoke-RpcMethod ListBooks -Connection $rpc -All -WarningAction Ignore
        $books | Should -HaveCount 1001
    }

    It 'warns of places that the server could not reach' {
        $null = $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'part' } -All -WarningVariable warned -WarningAction SilentlyContinue
        "$warned" | Should -BeLike '*ListBooks is not complete*eu, us*'
        "$warned" | Should -Not -Match "`e"
    }

    It 'reads on over pages without elements' {
        $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'empty' } -All | Should -BeNullOrEmpty
        $pageCalls | Should -HaveCount 6
    }

    It 'ends when a token repeats: <Shelf>' -ForEach @(
        @{ Shelf = 'again'; Count = 2 }
        @{ Shelf = 'circle'; Count = 4 }
    ) {
        $books = $rpc | Invoke-RpcMethod ListBooks @{ shelf = $Shelf } -All -ErrorAction SilentlyContinue -ErrorVariable failed

        $books | Should -HaveCount $Count
        $failed | Should -HaveCount 1
        $failed[0].FullyQualifiedErrorId | Should -Be 'EndlessPages,ProtoRpc.InvokeRpcMethodCommand'
        "$($failed[0])" | Should -BeLike '*same page token a second time*'
    }

    It 'writes what came before a page that fails' {
        $books = $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'broken' } -All -ErrorAction SilentlyContinue -ErrorVariable failed

        $books | Should -HaveCount 20
        $failed[0].FullyQualifiedErrorId | Should -Be 'RpcStatus.PermissionDenied,ProtoRpc.InvokeRpcMethodCommand'
    }

    It 'gives each page the time of -Deadline' {
        # Together they take longer.
        $books = $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'slow' } -All -Deadline 0.7
        $books | Should -HaveCount 50
    }

    It 'writes a hundred thousand elements' {
        $count = 0
        $rpc | Invoke-RpcMethod ListBooks @{ shelf = 'large'; page_size = 5000 } -All | ForEach-Object { $count++ }
        $count | Should -Be 100000
        $pageCalls | Should -HaveCount 20
    }

    It 'refuses <Method>, and says why' -ForEach @(
        @{ Method = 'ListTwo'; Why = '*ListTwoReply has 2 repeated fields (books, genres)*' }
        @{ Method = 'ListUnpaged'; Why = '*AllRequest has no string field page_token*' }
        @{ Method = 'WatchBooks'; Why = '*it streams*' }
    ) {
        { $rpc | Invoke-RpcMethod $Method -All -ErrorAction Stop } |
            Should -Throw -ErrorId 'NotPaged,ProtoRpc.InvokeRpcMethodCommand' -ExpectedMessage $Why
        { $rpc | Invoke-RpcMethod $Method -All -AsJob -ErrorAction Stop } | Should -Throw -ErrorId 'NotPaged,*'
    }

    It 'works for endpoints, several of them, and jobs' {
        $one = Invoke-RpcMethod ListBooks @{ page_size = 500 } -Endpoint $listener.Endpoint[0] -Schema $proto -All
        $one | Should -HaveCount 1000
        $many = Invoke-RpcMethod ListGenres -Endpoint $listener.Endpoint -Schema $proto -All
        $many | Should -HaveCount 12
        $many | Should -Contain 'GENRE_NOVEL'
        $rows = Invoke-RpcMethod ListBooks @{ page_size = 500 } -Endpoint $listener.Endpoint -Schema $proto -All -PassThruResult
        $rows.Status | Should -Be OK, OK
        $rows[0].Reply | Should -HaveCount 1000
        $books = Invoke-RpcMethod ListBooks @{ page_size = 500 } -Connection $rpc -All -AsJob | Complete-Job
        $books | Should -HaveCount 1000
        $books[0].title | Should -Be 'b0'
        Disconnect-RpcEndpoint -Pooled
    }

    It 'writes each page, and the command to repeat, with -Verbose' {
        $lines = $rpc | Invoke-RpcMethod ListBooks @{ page_size = 500 } -All -Verbose 4>&1 | Where-Object { $_ -is [System.Management.Automation.VerboseRecord] }
        @($lines.Message -like 'pages.Library/ListBooks on*OK*') | Should -HaveCount 2
        $lines.Message -like 'Repeat: *' | Should -BeLike '* -All'
    }

    Context 'commands of a service' {
        BeforeAll { $module = Import-RpcService -Schema $proto -Endpoint $listener.Endpoint[0] -Prefix Lib -PassThru }
        AfterAll { $module | Remove-Module }

        It 'have it where the method has pages' {
            $commands = Get-Command -Module $module
            $commands.Where({ $_.ImplementingType.BaseType.BaseType.Name -eq 'RpcPagedServiceCommand' }).Name |
                Sort-Object | Should -Be 'Get-LibBooks', 'Get-LibGenres'
            (Get-LibBooks -PageSize 250 -All) | Should -HaveCount 1000
            $pageCalls | Should -HaveCount 4
            (Get-LibBooks -PageSize 250).books | Should -HaveCount 250
            Get-LibGenres -All | Select-Object -First 1 | Should -Be 'GENRE_NOVEL'
        }

        It 'still set a field of this name' {
            (Get-LibBooks -Shelf all -AllField -All).title | Should -Be 'all True'
            (Get-Command Get-LibUnpaged).Parameters['All'] | Should -Not -BeNullOrEmpty
            { Get-LibUnpaged -All -ErrorAction Stop } | Should -Not -Throw
        }

        It 'say so in their help' {
            (Get-Help Get-LibBooks -Parameter All).description.Text | Should -BeLike '*all pages*'
            (Get-Command Get-LibBooks).OutputType.Name | Should -Contain 'ProtoRpc.Message#pages.Book'
        }
    }
}
