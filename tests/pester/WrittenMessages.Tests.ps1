. (Join-Path $PSScriptRoot common.ps1)

Describe 'A message that is text or a file' {
    BeforeAll {
        $listener = Start-TestListener @{ SayHello = {
                param($Request)
                @{ text = "$($Request.name) $($Request.times) $($Request.tags -join '+') $($Request.nested.name)" }
            } }
        $rpc = Connect-Test $listener
        $json = '{"name":"Ann","times":2,"tags":["a","b"],"nested":{"name":"in"}}'
        $there = @{ Endpoint = "$($listener.Endpoint[0])"; Schema = Join-Path $TestProtos greeter.proto; Service = 'demo.Greeter' }
    }

    AfterAll {
        Disconnect-RpcEndpoint -Pooled
        Clear-Test
    }

    It 'is JSON as -Message' {
        ($rpc | Invoke-RpcMethod SayHello $json).text | Should -Be 'Ann 2 a+b in'
        (Invoke-RpcMethod SayHello $json -Connection $rpc).text | Should -Be 'Ann 2 a+b in'
        (Invoke-RpcMethod SayHello $json @there).text | Should -Be 'Ann 2 a+b in'
        (Invoke-RpcMethod SayHello $json @there -PassThruResult).Reply.text | Should -Be 'Ann 2 a+b in'
    }

    It 'is JSON from the pipeline, a call for each text' {
        ('{"name":"a"}', '{"name":"b"}' | Invoke-RpcMethod SayHello -Connection $rpc).text |
            Should -Be 'a   ', 'b   '
        $lines = Join-Path $TestDrive lines.jsonl
        Set-Content $lines '{"name":"a"}', '{"name":"b"}'
        (Get-Content $lines | Invoke-RpcMethod SayHello @there).text | Should -Be 'a   ', 'b   '
    }

    It 'is refused with what to write, if it is only a value: <_>' -ForEach 'tea', '5', '[1]', '' {
        { $rpc | Invoke-RpcMethod SayHello -Message $_ -ErrorAction Stop } |
            Should -Throw -ExpectedMessage '*Give a hashtable, such as @{ name = ... }, or JSON.'
        { $rpc | Invoke-RpcMethod SayHello -Message '{ tea' -ErrorAction Stop } |
            Should -Throw -ExpectedMessage '*not JSON*(at line 1, column 3)'
    }

    It 'is what ConvertTo-Json writes' {
        (@{ name = 'Ann'; nested = @{ name = 'x' } } | ConvertTo-Json | Invoke-RpcMethod SayHello -Connection $rpc).text |
            Should -Be 'Ann   x'
    }

    It 'is text of another format by ConvertFrom-RpcMessage' {
        $message = ConvertFrom-RpcMessage 'name: "Ann" times: 2' -Type demo.HelloRequest -Format Text -Connection $rpc

        (Invoke-RpcMethod SayHello $message -Connection $rpc).text | Should -Be 'Ann 2  '
    }

    It 'names a file that cannot be read once: <Name>' -ForEach @(
        @{ Name = 'missing.json'; Why = 'the file does not exist' }
        @{ Name = 'missing/x.json'; Why = 'its folder does not exist' }
        @{ Name = 'folder.json'; Why = 'it is a folder' }
    ) {
        $null = New-Item -ItemType Directory (Join-Path $TestDrive folder.json) -Force
        $file = [IO.Path]::GetFullPath($Name, $TestDrive)

        { Invoke-RpcMethod SayHello -MessagePath $file -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'FileNotFound,*' -ExpectedMessage "Cannot read '$file': $Why."
    }

    It 'is a file: <Name>' -ForEach @(
        @{ Name = 'x.json'; Text = '{"name":"Ann","times":2}' }
        @{ Name = 'x.txtpb'; Text = 'name: "Ann" times: 2' }
        @{ Name = 'x.xml'; Text = '<HelloRequest><name>Ann</name><times>2</times></HelloRequest>' }
        @{ Name = 'x.bin'; Bytes = [byte[]](10, 3, 65, 110, 110, 16, 2) }
        @{ Name = 'x.pb'; Bytes = [byte[]](10, 3, 65, 110, 110, 16, 2) }
    ) {
        $file = Join-Path $TestDrive $Name
        if ($Bytes) { [IO.File]::WriteAllBytes($file, $Bytes) } else { Set-Content $file $Text }

        (Invoke-RpcMethod SayHello (Get-Item $file) -Connection $rpc).text | Should -Be 'Ann 2  '
        (Invoke-RpcMethod SayHello -MessagePath $file -Connection $rpc).text | Should -Be 'Ann 2  '
        (Get-Item $file | Invoke-RpcMethod SayHello @there).text | Should -Be 'Ann 2  '
        Push-Location $TestDrive
        ($rpc | Invoke-RpcMethod SayHello -MessagePath "./$Name").text | Should -Be 'Ann 2  '
        Pop-Location
    }

    It 'is a file of text with a byte order mark, as Windows PowerShell writes it: <Name>' -ForEach @(
        @{ Name = 'marked.json'; Text = '{"name":"Ann"}' }
        @{ Name = 'marked.txtpb'; Text = 'name: "Ann"' }
        @{ Name = 'marked.xml'; Text = '<HelloRequest><name>Ann</name></HelloRequest>' }
    ) {
        $file = Join-Path $TestDrive $Name
        foreach ($encoding in 'utf8BOM', 'unicode', 'bigendianunicode') {
            Set-Content $file $Text -Encoding $encoding

            (Invoke-RpcMethod SayHello -MessagePath $file -Connection $rpc).text | Should -BeLike 'Ann*'
        }
    }

    It 'is the file whose name has brackets, and no other, with -MessagePath' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive (New-TestName))
        [IO.File]::WriteAllText("$folder/order[1].json", '{"name":"brackets"}')
        Push-Location $folder
        try {
            ($rpc | Invoke-RpcMethod SayHello -MessagePath './order[1].json').text | Should -Be 'brackets   '
            [IO.File]::WriteAllText("$folder/order1.json", '{"name":"other"}')
            ($rpc | Invoke-RpcMethod SayHello -MessagePath './order[1].json').text | Should -Be 'brackets   '
            ($rpc | Invoke-RpcMethod SayHello -MessagePath "$folder/order[1].json").text | Should -Be 'brackets   '
            { $rpc | Invoke-RpcMethod SayHello -MessagePath './order*.json' -ErrorAction Stop } |
                Should -Throw -ErrorId 'FileNotFound,*'
        }
        finally { Pop-Location }
    }

    It 'is a file of the file system, and nothing else: <Path>' -ForEach @(
        @{ Path = 'x.json' }
        @{ Path = 'Env:/PATH' }
        @{ Path = 'Function:prompt' }
        @{ Path = 'NoSuchDrive:/x.json' }
    ) {
        Push-Location Env:
        try {
            { $rpc | Invoke-RpcMethod SayHello -MessagePath $Path -ErrorAction Stop } |
                Should -Throw -ErrorId 'FileNotFound,*' -ExpectedMessage "*'$Path'*"
        }
        finally { Pop-Location }
    }

    It 'is no file of any ending' {
        $file = Join-Path $TestDrive message.data
        Set-Content $file $json

        { Invoke-RpcMethod SayHello -MessagePath $file -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongFileEnding,*' -ExpectedMessage '*ConvertFrom-RpcMessage -Format*'
    }

    It 'says line and column of what is wrong: <Text>' -ForEach @(
        @{ Text = ''; Where = '*line 1, column 1*' }
        @{ Text = 'Ann'; Where = '*line 1, column 1*' }
        @{ Text = "{`n  `"name`": 7`n}"; Where = '*line 2, column *' }
        @{ Text = "{`n  `"nam`": `"Ann`"`n}"; Where = '*line 2, column *' }
        @{ Text = '{"name":"Ann"'; Where = '*line 1, column *' }
        @{ Text = '{"name":"Ann"} x'; Where = '*line 1, column *' }
        @{ Text = '[1]'; Where = '*line 1, column *' }
    ) {
        { Invoke-RpcMethod SayHello $Text -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ExceptionType ([ProtoRpc.RpcException]) -ExpectedMessage $Where
        $file = Join-Path $TestDrive wrong.json
        Set-Content $file $Text
        { Invoke-RpcMethod SayHello -MessagePath $file -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ExpectedMessage "*wrong.json*line *"
    }

    It 'leaves out unknown fields with -AllowUnknownField' {
        ($rpc | Invoke-RpcMethod SayHello '{"name":"Ann","more":1}' -AllowUnknownField).text | Should -Be 'Ann   '
    }

    It 'fails for a file that is not there, or two messages' {
        { Invoke-RpcMethod SayHello -MessagePath (Join-Path $TestDrive none.json) -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'FileNotFound,*'
        { Invoke-RpcMethod SayHello @{} -MessagePath x.json -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
    }

    It 'refuses JSON that is nested without end' {
        $deep = '{"nested":' * 200 + '{}' + '}' * 200
        { $rpc | Invoke-RpcMethod SayHello $deep -ErrorAction Stop } | Should -Throw -ErrorId 'TooDeep,*'
    }

    It 'keeps what a string means to <Type>' -ForEach @(
        @{ Type = 'google.protobuf.StringValue'; Import = 'wrappers'; Text = '{"a":1}'; Wanted = '{"a":1}' }
        @{ Type = 'google.protobuf.Value'; Import = 'struct'; Text = '{"a":1}'; Wanted = '{"a":1}' }
        @{ Type = 'google.protobuf.Duration'; Import = 'duration'; Text = '1.5s'; Wanted = '00:00:01.5000000' }
        @{ Type = 'google.protobuf.Struct'; Import = 'struct'; Text = '{"a":"b"}'; Wanted = 'Struct of b' }
    ) {
        $proto = Join-Path $TestDrive "$Import-$(New-TestName).proto"
        Set-Content $proto ("syntax = 'proto3'; package same; import 'google/protobuf/$Import.proto'; " +
            "service Same { rpc Get ($Type) returns ($Type); }")
        $same = Start-RpcListener "ncalrpc:[$(New-TestName)]" -Schema $proto -Handler { $Request }
        $reply = $same | Connect-RpcEndpoint | Invoke-RpcMethod Get $Text

        ($reply -is [Collections.IDictionary] ? "Struct of $($reply['a'])" : "$reply") | Should -Be $Wanted
        $same | Stop-RpcListener
    }

    It 'feeds a stream, a message for each text' {
        $proto = Join-Path $TestDrive sum.proto
        Set-Content $proto ("syntax = 'proto3'; package sums; service Sums { rpc Add (stream N) returns (N); } " +
            'message N { int32 n = 1; }')
        $sums = Start-RpcListener 'grpc://127.0.0.1:0' -Schema $proto -Handler { @{ n = ($Request | Measure-Object n -Sum).Sum } }
        $all = '{"n":1}', '{"n":2}', '{"n":3}'

        ($all | Invoke-RpcMethod Add -Endpoint $sums.Endpoint[0]).n | Should -Be 6
        (Invoke-RpcMethod Add $all -Endpoint $sums.Endpoint[0]).n | Should -Be 6
        $sums | Stop-RpcListener
    }
}
