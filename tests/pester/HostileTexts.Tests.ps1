. (Join-Path $PSScriptRoot common.ps1)

# No text of a server, a caller or a schema controls the terminal when PowerShell shows it.
Describe 'Texts of others' {
    BeforeAll {
        # ESC and BEL, C1, a carriage return alone, a backspace, and what turns lines around.
        $hostile = "a`e]0;title`ab`u{9b}2Jc`rd`be`u{202a}f`u{202b}g`u{202c}h`u{202d}i`u{202e}j`u{2066}k`u{2067}l`u{2068}m`u{2069}n"
        $controls = '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)'
        $rendering = $PSStyle.OutputRendering
        # Else the shell removes escape sequences, and with them what is to be found.
        $PSStyle.OutputRendering = 'Ansi'

        # The colours are the shell's.
        function ShouldBeNeutral($Shown, [string] $Of) {
            $text = "$Shown" -replace '\e\[[\d;]*m'
            [regex]::Matches($text, $controls).ForEach({ '{0:X4}' -f [int] $_.Value[0] }) |
                Should -BeNullOrEmpty -Because "$Of shows: $($text -replace $controls, '?')"
        }
        function ShouldShowNeutral($Object, [string] $Of) {
            $Object | Should -Not -BeNullOrEmpty -Because $Of
            ShouldBeNeutral ($Object | Out-String -Width 500) "the view of $Of"
            ShouldBeNeutral ($Object | Format-List | Out-String -Width 500) "Format-List of $Of"
            ShouldBeNeutral "$Object" "the text of $Of"
        }
        function ShouldFailNeutral($Record, [string] $Of) {
            ShouldShowNeutral $Record $Of
            ShouldShowNeutral $Record.Exception "the exception of $Of"
            foreach ($view in 'NormalView', 'CategoryView', 'DetailedView') {
                $ErrorView = $view
                ShouldBeNeutral ($Record | Out-String -Width 500) "$view of $Of"
            }
            ShouldBeNeutral $Record.Exception.Message "the message of $Of"
            ShouldBeNeutral ($Record.Exception.Details | Format-List | Out-String -Width 500) "the details of $Of"
            ShouldBeNeutral ($Record.Exception.Trailers.GetEnumerator() | ForEach-Object { "$($_.Key) $($_.Value)" }) "the trailers of $Of"
        }
    }

    AfterAll {
        $PSStyle.OutputRendering = $rendering
        Clear-Test
    }

    Context 'of a handler, over <Name>' -ForEach @(
        @{ Name = 'TCP'; Endpoint = 'ncacn_ip_tcp:127.0.0.1[0]' }
        @{ Name = 'HTTP'; Endpoint = 'http://127.0.0.1:0/' }
        @{ Name = 'gRPC'; Endpoint = 'grpc://127.0.0.1:0' }
        @{ Name = 'a local endpoint'; Endpoint = 'local' }
    ) {
        BeforeAll {
            $address = $Endpoint -eq 'local' ? "ncalrpc:[$(New-TestName)]" : $Endpoint
            # All that callers can be told, and handlers that write what they are sent.
            $listener = Start-TestListener -Endpoint $address -With @{ ListenerOption = @{ ErrorDetail = 'Full' } } -Handler @{ SayHello = {
                param($Request)
                $text = $Request.name
                switch ($Request.tags[0]) {
                    'throw' { throw $text }
                    'exception' { throw [InvalidOperationException]::new($text, [IO.IOException]::new($text)) }
                    'status' {
                        $failure = [ProtoRpc.RpcException]::new('NotFound', $text)
                        $failure.Details = @(@{ '@type' = 'type.googleapis.com/demo.HelloRequest'; name = $text; tags = @($text) })
                        throw $failure
                    }
                    'records' {
                        Write-Warning $text
                        Write-Verbose $text -Verbose
                        Write-Debug $text -Debug
                        Write-Host $text
                        Write-Information $text -InformationAction Continue
                        Write-Information ([pscustomobject] @{ Text = $text }) -InformationAction Continue
                        Write-Information @{ Text = $text } -InformationAction Continue
                        Write-Information $Request -InformationAction Continue
                        Write-Error $text -ErrorId $text -CategoryActivity $text -CategoryReason $text `
                            -CategoryTargetName $text -CategoryTargetType $text
                        Write-Error -Message $text -RecommendedAction 'none'
                    }
                }
                @{ }
            } }
            $rpc = Connect-Test $listener
        }

        AfterAll { $listener | Stop-RpcListener -DrainTimeout 0 }

        It 'are neutral in the error of a call that ends by <_>' -ForEach 'throw', 'exception', 'status' {
            $call = @{ Connection = $rpc; ErrorAction = 'SilentlyContinue'; ErrorVariable = 'failed' }
            Invoke-RpcMethod SayHello @{ name = $hostile; tags = @($_) } @call

            ShouldFailNeutral $failed[0] $_
            "$($failed[0])" | Should -BeLike '*a\u001B]0;title\u0007b\u009B2Jc\u000Dd\u0008e\u202Af*'
            if ($_ -eq 'status') {
                $failed[0].Exception.Details[0].name | Should -BeLike '*\u2069n'
                $failed[0].Exception.Details[0].tags[0] | Should -BeLike '*\u2069n'
            }
            $listener | Receive-RpcListener *> $null
        }

        It 'are neutral in a job and what it gives' {
            $job = Invoke-RpcMethod SayHello @{ name = $hostile; tags = @('throw') } -Connection $rpc -AsJob
            try {
                $null = $job | Wait-Job -Timeout 20
                ShouldShowNeutral $job 'the job'
                $job | Receive-Job -ErrorAction SilentlyContinue -ErrorVariable failed
                ShouldFailNeutral $failed[0] 'the job'
            }
            finally {
                $job | Remove-Job -Force
                $listener | Receive-RpcListener *> $null
            }
        }

        It 'are neutral in the records of <_>' -ForEach 'Receive-RpcListener', 'Wait-RpcListener' {
            $null = Invoke-RpcMethod SayHello @{ name = $hostile; tags = @('records') } -Connection $rpc
            Invoke-RpcMethod SayHello @{ name = $hostile; tags = @('throw') } -Connection $rpc -ErrorAction Ignore
            Wait-Until { $listener.Records -ge 11 } | Should -BeTrue

            $VerbosePreference = $DebugPreference = 'Continue'
            $records = if ($_ -eq 'Receive-RpcListener') {
                Receive-RpcListener $listener *>&1
            } else {
                Wait-RpcListener $listener -Timeout 0.2 *>&1
            }

            $records.Count | Should -BeGreaterOrEqual 11
            foreach ($record in $records) {
                ShouldShowNeutral $record $record.GetType().Name
                if ($record -is [System.Management.Automation.ErrorRecord]) {
                    foreach ($view in 'NormalView', 'CategoryView') {
                        $ErrorView = $view
                        ShouldBeNeutral ($record | Out-String -Width 500) $view
                    }
                    ShouldBeNeutral "$($record.Method) $($record.Caller) $($record.Stack)" 'its members'
                }
            }
            "$records" | Should -BeLike '*a\u001B]0;title\u0007b*'
        }
    }

    Context 'of a schema' {
        BeforeAll {
            # As many bytes as the names and comments that it is put in the place of.
            $evil = "`e]0;tt`a`u{9b}2"
            $proto = Join-Path $TestDrive 'namesfile0.proto'
            Set-Content $proto @'
syntax = "proto2";
package hostile;
import "google/protobuf/descriptor.proto";
extend google.protobuf.MessageOptions { optional string note = 50000; }
extend google.protobuf.FieldOptions { optional string hint = 50001; }
// Commentary before a message
message Request {
  option (note) = "Commentary";
  // Commentary before a field
  optional string name = 1 [json_name = "Commentary", default = "Commentary", (hint) = "Commentary"];
  oneof choice { int32 number = 2; }
  // Commentary before an enum
  enum Kind {
    // Commentary before a value
    ZERO = 0;
  }
  optional Kind kind = 3;
}
// Commentary before a service
service Things {
  // Commentary before a method
  rpc Do (Request) returns (Request);
}
'@
            $set = Join-Path $TestDrive hostile.pb
            Import-RpcSchema $proto | Export-RpcSchema $set
            $bytes = [Text.Encoding]::Latin1.GetString([IO.File]::ReadAllBytes($set))
            # U+009B is two bytes in UTF-8.
            $put = [Text.Encoding]::Latin1.GetString([Text.Encoding]::UTF8.GetBytes($evil))
            $bytes = $bytes.Replace('Commentary', $put).Replace('namesfile0', $put)
            [IO.File]::WriteAllBytes($set, [Text.Encoding]::Latin1.GetBytes($bytes))
            $schema = Import-RpcSchema $set
            $type = Get-RpcMessageType hostile.Request -Schema $schema
        }

        It 'are ten bytes' { $put.Length | Should -Be 10 }

        It 'are neutral in the views of all that describes it' {
            ShouldShowNeutral $schema 'the schema'
            ShouldShowNeutral (Get-RpcService -Schema $schema) 'a service'
            ShouldShowNeutral (Get-RpcMethod -Schema $schema) 'a method'
            ShouldShowNeutral $type 'a message'
            ShouldShowNeutral $type.Fields 'the fields'
            ShouldShowNeutral $type.Oneofs 'the oneofs'
            ShouldShowNeutral $schema.Enums.Where({ $_.FullName -eq 'hostile.Request.Kind' }) 'the enum'
            ShouldShowNeutral $type.Fields[0].Options.Values 'the options'
            $schema | Out-String -Width 300 | Should -BeLike '*\u001B]0;tt\u0007\u009B2.proto*'
            $type | Format-List | Out-String -Width 300 | Should -BeLike '*FileName*\u001B]0;tt\u0007\u009B2.proto*'
            $type.Fields[0].JsonName | Should -BeExactly '\u001B]0;tt\u0007\u009B2'
            $type.Fields[0].Comment | Should -BeExactly '\u001B]0;tt\u0007\u009B2 before a field'
        }

        It 'stay as they are where they are data' {
            $type.Fields[0].DefaultValue | Should -BeExactly $evil
            $json = @{ name = 'x' } | ConvertTo-RpcMessage -Type hostile.Request -Schema $schema -Format Json
            ($json | ConvertFrom-Json -AsHashtable).Keys | Should -BeExactly @($evil)
            ($json | ConvertFrom-RpcMessage -Type hostile.Request -Schema $schema -Format Json).name | Should -Be 'x'
        }

        It 'are neutral in errors that quote it' {
            $again = Join-Path $TestDrive again.proto
            Set-Content $again 'syntax = "proto2"; package hostile; message Request {}'
            { Import-RpcSchema $set, $again -ErrorAction Stop } | Should -Throw
            Import-RpcSchema $set, $again -ErrorAction SilentlyContinue -ErrorVariable failed
            ShouldShowNeutral $failed[0] 'a duplicate'

            { Export-RpcSchema (Join-Path $TestDrive out) $schema -Format Proto -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage '*\u001B]0;tt\u0007\u009B2.proto*'
        }

        It 'are neutral in what completion shows' {
            $Global:completionSchema = $schema
            try {
                $offered = foreach ($line in @(
                        'New-RpcMessage -Schema $completionSchema -Type '
                        'Get-RpcMethod -Schema $completionSchema -Name '
                        'Get-RpcService -Schema $completionSchema -Name '
                        'Get-RpcMessageType -Schema $completionSchema -Name '
                    )) {
                    Complete $line | Where-Object { $_.CompletionText -match 'hostile' }
                }
                $offered | Should -Not -BeNullOrEmpty
                foreach ($one in $offered) {
                    ShouldBeNeutral "$($one.CompletionText) $($one.ListItemText) $($one.ToolTip)" 'completion'
                    "$($one.CompletionText)$($one.ListItemText)" | Should -Not -Match '[\r\n\t]'
                }
            }
            finally {
                Remove-Variable completionSchema -Scope Global
            }
        }
    }
}
