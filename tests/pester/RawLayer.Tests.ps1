. (Join-Path $PSScriptRoot common.ps1)

Describe 'The raw layer' {
    BeforeAll {
        $id = [guid]'b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f'

        function Start-Raw([scriptblock] $Handler, [hashtable] $With = @{}) {
            Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId $id -Handler $Handler @With
        }
    }

    AfterEach { Clear-Test }

    It 'carries bytes in and out' {
        $listener = Start-Raw { param([byte[]] $Bytes) [array]::Reverse($Bytes); $Bytes }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -InterfaceId $id

        $reply = Invoke-RpcMethod -Message 1, 2, 3 -Connection $rpc

        , $reply | Should -BeOfType byte[]
        $reply | Should -Be 3, 2, 1
        $listener.IsRaw | Should -BeTrue
        $listener.InterfaceId | Should -Be $id
        $rpc.InterfaceId | Should -Be $id
        $rpc.Calls | Should -Be 1
    }

    It 'takes <Name> as the reply' -ForEach @(
        @{ Name = 'nothing'; Handler = { }; Reply = '' }
        @{ Name = 'one byte'; Handler = { [byte]7 }; Reply = '07' }
        @{ Name = 'numbers'; Handler = { 1, 2, 255 }; Reply = '0102FF' }
        @{ Name = 'an array as one object'; Handler = { , [byte[]](8, 9) }; Reply = '0809' }
        @{ Name = 'the variable $Bytes'; Handler = { $Bytes }; Reply = '2A' }
    ) {
        $listener = Start-Raw $Handler
        $null = $listener | Connect-RpcEndpoint

        [Convert]::ToHexString((Invoke-RpcMethod -Message 42)) | Should -Be $Reply
    }

    It 'tells the handler who calls' {
        $listener = Start-Raw {
            $told = $RpcContext.User.Name, $RpcContext.ProcessId, $RpcContext.InterfaceId
            [Text.Encoding]::UTF8.GetBytes("$told")
        }
        $rpc = $listener | Connect-RpcEndpoint

        $text = [Text.Encoding]::UTF8.GetString((Invoke-RpcMethod -Message @() -Connection $rpc))

        $text | Should -Be "$OwnName $PID $id"
    }

    It 'answers <Name> with return code <Code>, as the original does' -ForEach @(
        @{ Name = 'a handler that throws'; Handler = { throw 'out of paper' }; Code = 2147500037u }
        @{ Name = 'a handler that gives null'; Handler = { $null }; Code = 1715u }
        @{ Name = 'a handler that gives text'; Handler = { 'text' }; Code = 2147500037u }
    ) {
        $null = Start-Raw $Handler | Connect-RpcEndpoint

        $null = Invoke-RpcMethod -Message 1 -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors[0].Exception.NativeStatus | Should -Be $Code
    }

    It 'keeps the error of a handler for Receive-RpcListener' {
        $listener = Start-Raw { throw 'out of paper' }
        $null = $listener | Connect-RpcEndpoint
        $null = Invoke-RpcMethod -Message 1 -ErrorAction SilentlyContinue

        $null = $listener | Receive-RpcListener -ErrorAction SilentlyContinue -ErrorVariable shown

        "$($shown[0])" | Should -BeLike "* $id failed for *: out of paper*"
    }

    It 'refuses requests over -MaxRequestBytes' {
        $null = Start-Raw { $Bytes } -With @{ ListenerOption = @{ MaxRequestBytes = 3 } } | Connect-RpcEndpoint

        { Invoke-RpcMethod -Message 1, 2, 3, 4 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*'
        (Invoke-RpcMethod -Message 1, 2, 3) | Should -Be 1, 2, 3
    }

    It 'refuses calls over -MaxCalls' {
        $gate = [Threading.ManualResetEventSlim]::new()
        $listener = Start-Raw { $null = ($using:gate).Wait(20000); $Bytes } -With @{ ListenerOption = @{ MaxCalls = 1 } }
        try {
            $one, $two = 1..2 | ForEach-Object { Connect-RpcEndpoint $listener.Endpoint[0] -InterfaceId $id }
            $job = Invoke-RpcMethod -Message 1 -Connection $one -AsJob
            Wait-Until { $listener.InFlight -eq 1 } | Should -BeTrue

            { Invoke-RpcMethod -Message 2 -Connection $two -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*'
            $gate.Set()
            $job | Complete-Job | Should -Be 1
        }
        finally {
            $gate.Set()
        }
    }

    It 'shows a filter the bytes, which it may change' {
        $null = Start-Raw { $Bytes; 0 } -With @{
            Filter = @(
                { $reply = $Next.Invoke($Bytes + 1); $reply + 10 }
                { $reply = $Next.Invoke(@($Bytes) + 2); $reply + 20 }
            )
            ListenerOption = @{ WorkerCount = 1 }
        } | Connect-RpcEndpoint

        (Invoke-RpcMethod -Message 9) | Should -Be 9, 1, 2, 0, 20, 10
    }

    It 'lets a filter pass on what came, answer itself, or give nothing' {
        $null = Start-Raw { $Bytes } -With @{
            Filter = { switch ($Bytes.Count) { 0 { $null } 1 { [byte[]](7, 7) } default { $Next.Invoke() } } }
        } | Connect-RpcEndpoint

        (Invoke-RpcMethod -Message 1, 2, 3) | Should -Be 1, 2, 3
        (Invoke-RpcMethod -Message 1) | Should -Be 7, 7
        $null = Invoke-RpcMethod -Message @() -ErrorAction SilentlyContinue -ErrorVariable errors
        $errors[0].Exception.NativeStatus | Should -Be 1715
    }

    It 'is refused by a filter that throws, and the handler does not run' {
        $listener = Start-Raw { Write-Warning 'ran' } -With @{
            Filter = {
                if ($RpcContext.User.Name) {
                    throw [ProtoRpc.RpcException]::new('PermissionDenied', 'not you')
                }
                $Next.Invoke()
            }
        }
        $null = $listener | Connect-RpcEndpoint

        { Invoke-RpcMethod -Message 1 -ErrorAction Stop } | Should -Throw -ErrorId 'RpcStatus.PermissionDenied,*'
        $null = $listener | Receive-RpcListener -WarningVariable warnings -WarningAction SilentlyContinue `
            -InformationVariable shown -InformationAction SilentlyContinue
        $warnings | Should -BeNullOrEmpty
        $shown.MessageData.Message | Should -Be 'not you'
    }

    It 'says that a filter passed on what is no bytes' {
        $listener = Start-Raw { $Bytes } -With @{ Filter = { $Next.Invoke('text') } }
        $null = $listener | Connect-RpcEndpoint
        $null = Invoke-RpcMethod -Message 1 -ErrorAction SilentlyContinue -ErrorVariable errors
        $null = $listener | Receive-RpcListener -ErrorVariable shown -ErrorAction SilentlyContinue

        $errors[0].Exception.NativeStatus | Should -Be 2147500037u
        "$shown" | Should -BeLike "*A filter of interface $id passed on a value that is not bytes*"
        $shown[0].Exception.ErrorId | Should -Be 'WrongRequest'
    }

    It 'says that a handler wrote what is no bytes' {
        $listener = Start-Raw { 'text' }
        $null = $listener | Connect-RpcEndpoint
        $null = Invoke-RpcMethod -Message 1 -ErrorAction SilentlyContinue
        $null = $listener | Receive-RpcListener -ErrorVariable shown -ErrorAction SilentlyContinue

        $shown[0].FullyQualifiedErrorId | Should -BeLike 'RawHandlerFailed*'
        $shown[0].Exception.ErrorId | Should -Be 'WrongReply'
    }

    It 'is for those whom -Authorization names' {
        $me = $OwnName
        $open = Start-Raw { 1 } -With @{ Authorization = @{ "$id" = $me } } | Connect-RpcEndpoint
        $closed = Start-Raw { 1 } -With @{ Authorization = @{ '*' = $me; 'b1f2c2b4-*' = 'somebody' } } |
            Connect-RpcEndpoint

        (Invoke-RpcMethod -Message 1 -Connection $open) | Should -Be 1
        { Invoke-RpcMethod -Message 1 -Connection $closed -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.PermissionDenied,*'
    }

    It 'refuses a parameter that its endpoints do not have' {
        { Start-Raw { } -With @{ Certificate = 'server.pfx' } } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage '-Certificate does not apply to *tcp://*'
    }

    It 'says how to call when bytes and messages are mixed up' {
        $raw = Start-Raw { $Bytes } | Connect-RpcEndpoint
        $messages = Start-TestListener { @{} } | Connect-RpcEndpoint

        { Invoke-RpcMethod SayHello -Message 1 -Connection $raw -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongConnection,*' -ExpectedMessage '*is a raw connection, which has no methods. *without -Method*'
        { Invoke-RpcMethod -Message 1 -Connection $messages -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongConnection,*' -ExpectedMessage '*is not a raw connection*-Method*-InterfaceId*'
        { @{ name = 'Ann' }, @{ name = 'Bob' } | Invoke-RpcMethod -Connection $messages } |
            Should -Throw -ErrorId 'WrongConnection,*' -ExpectedMessage '*requires -Method*'
        { Invoke-RpcMethod -Connection $messages -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongConnection,*' -ExpectedMessage '*requires -Method*'
    }

    It 'takes only parameters of bytes: -<Name>' -ForEach @(
        @{ Name = 'All'; Value = $true }
        @{ Name = 'AllowUnknownField'; Value = $true }
        @{ Name = 'AsHashtable'; Value = $true }
        @{ Name = 'Extension'; Value = @{ '[a.b]' = 1 } }
        @{ Name = 'Header'; Value = @{ a = 'b' } }
        @{ Name = 'MessagePath'; Value = 'request.bin' }
        @{ Name = 'Raw'; Value = $true }
        @{ Name = 'ReplyInfoVariable'; Value = 'info' }
    ) {
        $raw = Start-Raw { $Bytes } | Connect-RpcEndpoint
        $with = @{ $Name = $Value }

        { Invoke-RpcMethod -Connection $raw @with -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage "-$Name does not apply to 'ncalrpc:*', only to *endpoints with -Schema*"
    }

    It 'needs the bytes of a request: <Why>' -ForEach @(
        @{ Why = 'nothing'; With = @{}; Text = 'A raw call requires the bytes of the request: *-Message @()*' }
        @{ Why = 'null'; With = @{ Message = $null }; Text = 'A raw call requires the bytes of the request: *' }
        @{ Why = 'a message'; With = @{ Message = @{ a = 1 } }; Text = 'The request of a raw call must be bytes, *Hashtable*' }
        @{ Why = 'text'; With = @{ Message = 'abc' }; Text = 'The request of a raw call must be bytes, *abc*' }
        @{ Why = 'a large number'; With = @{ Message = 1, 256 }; Text = 'The request of a raw call must be bytes, *256*' }
    ) {
        $raw = Start-Raw { $Bytes } | Connect-RpcEndpoint

        { Invoke-RpcMethod -Connection $raw @With -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongRequest,*' -ExpectedMessage $Text
    }

    Context 'from the pipeline' {
        BeforeEach {
            $rpc = Start-Raw { , [byte[]]@($Bytes.Count; $Bytes) } | Connect-RpcEndpoint
        }

        It 'takes each array as a request' {
            $replies = [byte[]](1, 2), [byte[]]@(), @(3) | Invoke-RpcMethod -Connection $rpc

            $replies | ForEach-Object { $_ -join ' ' } | Should -Be '2 1 2', '0', '1 3'
            (, [byte[]](7, 8) | Invoke-RpcMethod -Connection $rpc) | Should -Be 2, 7, 8
        }

        It 'joins single bytes, as PowerShell sends the elements of an array' {
            $bytes = [byte[]](1, 2, 3)

            ($bytes | Invoke-RpcMethod -Connection $rpc) | Should -Be 3, 1, 2, 3
            (4, 5 | Invoke-RpcMethod -Connection $rpc -PassThruResult).Reply | Should -Be 2, 4, 5
            @() | Invoke-RpcMethod -Connection $rpc | Should -BeNullOrEmpty
        }

        It 'sends nothing if one of them is no byte' {
            $calls = $rpc.Calls

            { 1, 256, 2 | Invoke-RpcMethod -Connection $rpc } | Should -Throw -ErrorId 'WrongRequest,*' -ExpectedMessage '*256*'
            { 1, $null, 2 | Invoke-RpcMethod -Connection $rpc -PassThruResult } | Should -Throw -ErrorId 'WrongRequest,*'
            $rpc.Calls | Should -Be $calls
        }

        It 'fails once if the connection is not a raw one, however many objects there are' {
            $typed = Connect-Test (Start-TestListener { })

            { 1..3 | Invoke-RpcMethod -Connection $typed } | Should -Throw -ErrorId 'WrongConnection,*'
            $typed.Calls | Should -Be 0
        }
    }

    It 'is called over several connections, in parallel and in jobs' {
        $raw = 1..2 | ForEach-Object { Start-Raw { $Bytes } | Connect-RpcEndpoint }
        $bytes = [byte[]](5, 6)

        $rows = Invoke-RpcMethod -Message $bytes -Connection $raw -PassThruResult -ThrottleLimit 2 -Deadline 20
        $rows.Status | Should -Be OK, OK
        $rows[0].Reply | Should -Be 5, 6
        $raw | Invoke-RpcMethod -Message $bytes -AsJob | Complete-Job | ForEach-Object { $_ } | Should -Be 5, 6, 5, 6
    }

    It 'says that an interface is not served' {
        $listener = Start-Raw { $Bytes }

        { Connect-RpcEndpoint $listener.Endpoint[0] -InterfaceId ([guid]::NewGuid()) -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*'
    }

    It 'has one script block as -Handler, also by its place' {
        $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" { , $Bytes } -InterfaceId $id

        $listener.IsRaw | Should -BeTrue
        ($listener | Connect-RpcEndpoint | Invoke-RpcMethod -Message 1, 2) | Should -Be 1, 2
    }

    It 'rejects <What> as -Handler' -ForEach @(
        @{ What = 'a hashtable'; Value = @{ SayHello = { } } }
        @{ What = 'a text'; Value = 'text' }
    ) {
        { Start-RpcListener "ncalrpc:[$(New-TestName)]" $Value -InterfaceId $id } |
            Should -Throw -ErrorId 'InvalidHandler,*' `
                -ExpectedMessage '-Handler of a raw listener*must be one script block*by their names, give -Schema.'
        Get-RpcListener | Should -BeNullOrEmpty
    }

    It 'rejects -<Name>, which needs a schema' -ForEach @(
        @{ Name = 'Service'; Value = 'demo.Greeter' }
        @{ Name = 'Ping'; Value = { } }
        @{ Name = 'BasicCheck'; Value = { } }
        @{ Name = 'AllowUnencrypted'; Value = $true }
    ) {
        $with = @{ $Name = $Value }
        { Start-RpcListener "ncalrpc:[$(New-TestName)]" { } -InterfaceId $id @with } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage "-$Name requires a schema, and a raw listener*Give -Schema, or remove -$Name."
    }

    It 'needs the id of its interface' {
        { Start-RpcListener "ncalrpc:[$(New-TestName)]" { } } |
            Should -Throw -ErrorId 'NoSchema,*' -ExpectedMessage '-Schema is missing.*raw listener, give -InterfaceId.'
    }

    It 'is not meant by -InterfaceId with a schema, nor with a connection as -Handler' {
        $service = Start-TestListener { @{ text = 'typed' } } -With @{ InterfaceId = $id }
        $with = @{ Schema = $service.Schema; Service = 'demo.Greeter'; ConnectionOption = @{ InterfaceId = $id } }
        $gateway = Start-RpcListener "ncalrpc:[$(New-TestName)]" (Connect-RpcEndpoint $service.Endpoint[0] @with) -InterfaceId $id

        $service.IsRaw, $gateway.IsRaw | Should -Be $false, $false
        $gateway.InterfaceId | Should -Contain $id
        $rpc = Connect-RpcEndpoint $gateway.Endpoint[0] @with
        ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'typed'
    }

    It 'has a parameter set that shows nothing else' {
        $sets = (Get-Command Start-RpcListener).ParameterSets
        $raw = ($sets | Where-Object Name -EQ Raw).Parameters

        $sets.Name | Sort-Object | Should -Be Handler, Raw
        ($raw | Where-Object IsMandatory).Name | Sort-Object | Should -Be Endpoint, Handler, InterfaceId
        $raw.Name | Where-Object { $_ -in 'Schema', 'Service', 'Ping', 'Record', 'Mask', 'BasicCheck' } |
            Should -BeNullOrEmpty
    }

    It 'is not there on HTTP' {
        { Start-RpcListener 'http://127.0.0.1:0/' -InterfaceId $id -Handler { } } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*' -ExpectedMessage '*Raw calls work on*'
    }
}
