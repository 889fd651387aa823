using namespace System.Management.Automation.Language
using namespace System.Management.Automation.Subsystem
using namespace System.Management.Automation.Subsystem.Prediction

. (Join-Path $PSScriptRoot common.ps1)

Describe 'The predictor of command lines' {
    BeforeAll {
        $proto = Join-Path $TestDrive orders.proto
        Set-Content $proto @'
syntax = "proto2";
package orders;
enum State { NEW = 0; SENT = 1; }
message Address { optional string city = 1; }
message Order {
  required string id = 1;  // The number of the order.
  optional State state = 2;
  optional Address to = 3;
  repeated Address stops = 4;
}
message Hostile { optional string text = 1 [default = "'; calc '\033]0;x\007\342\200\256"]; }
service Orders {
  rpc Place (Order) returns (Order);
  rpc Plan (Address) returns (Order);
  rpc Break (Hostile) returns (Order);
}
'@
        $schema = Import-RpcSchema $proto
        $name = New-TestName
        $listener = Start-RpcListener -Schema $schema -Endpoint "inproc://$name" -Handler { @{} }
        $rpc = Connect-RpcEndpoint "inproc://$name" -Schema $schema
        Enable-RpcCompletion
        $client = [PredictionClient]::new('test', [PredictionClientKind]::Terminal)

        # What PSReadLine would show for a line, with more time than it gives.
        function Predict([string] $Line) {
            $tokens = $errors = $null
            $ast = [Parser]::ParseInput($Line, [ref] $tokens, [ref] $errors)
            foreach ($result in [CommandPrediction]::PredictInputAsync($client, $ast, $tokens, 10000).Result) {
                if ($result.Name -eq 'ProtoRpc') { $result.Suggestions.SuggestionText }
            }
        }

        function Count-Predictors {
            @([SubsystemManager]::GetSubsystemInfo([SubsystemKind]::CommandPredictor).Implementations |
                Where-Object Name -EQ 'ProtoRpc').Count
        }
    }

    AfterAll {
        Disable-RpcCompletion
        Clear-Test
        Disconnect-RpcEndpoint $rpc
        $listener | Stop-RpcListener
    }

    It 'offers methods with their requests' {
        Predict 'Invoke-RpcMethod ' | Should -HaveCount 3
        Predict 'Invoke-RpcMethod plac' |
            Should -Be "Invoke-RpcMethod Place @{ id = ''; state = 'NEW'; to = @{ city = '' }; stops = @(@{ city = '' }) }"
        Predict '$rpc | invoke-rpcmethod -Deadline 3 -AsJob Plan ' |
            Should -Be "`$rpc | invoke-rpcmethod -Deadline 3 -AsJob Plan @{ city = '' }"
        Predict 'Invoke-RpcMethod -Method Pla' | Should -HaveCount 2
    }

    It 'offers the keys and the values of messages: <Line>' -ForEach @(
        @{ Line = 'Invoke-RpcMethod Place @{ i'; Next = 'Invoke-RpcMethod Place @{ id = ' }
        @{ Line = 'Invoke-RpcMethod Place @{ id = "a"; st'
            Next = 'Invoke-RpcMethod Place @{ id = "a"; state = ', 'Invoke-RpcMethod Place @{ id = "a"; stops = ' }
        @{ Line = 'Invoke-RpcMethod Place -Message @{ to = @{ '
            Next = 'Invoke-RpcMethod Place -Message @{ to = @{ city = ' }
        @{ Line = 'Invoke-RpcMethod -Method Place -Verbose @{ stops = @{ c'
            Next = 'Invoke-RpcMethod -Method Place -Verbose @{ stops = @{ city = ' }
        @{ Line = 'Invoke-RpcMethod Place @{ state = S'; Next = "Invoke-RpcMethod Place @{ state = 'SENT'" }
    ) {
        # Of values that are texts, the quote comes before what is written, so the line would change.
        $lines = Predict $Line
        if ($Line.EndsWith('S')) { $lines | Should -BeNullOrEmpty } else { $lines | Should -Be $Next }
    }

    It 'offers nothing for other lines: <_>' -ForEach @(
        'Get-ChildItem '
        'Invoke-RpcMethod'
        'Invoke-RpcMethod Nothing @{ '
        'Invoke-RpcMethod Place @{ nothing = @{ '
        'Invoke-RpcMethod Place -Schema $other @{ '
        'Invoke-RpcMethod Place -Endpoint grpc://nowhere.invalid:1 '
        'Invoke-RpcMethod Place -Header @{ '
        'Invoke-RpcMethod -Message 1 '
        '"Invoke-RpcMethod Place @{ '
        '# Invoke-RpcMethod Place '
        'Invoke-RpcMethod Place @{ id = 1 } | Get-Member '
    ) {
        Predict $_ | Should -BeNullOrEmpty
    }

    It 'offers constants only, without control characters' {
        $line = Predict 'Invoke-RpcMethod Brea'
        $line | Should -Not -Match '[\p{Cc}\p{Cf}]'
        $tokens = $errors = $null
        $ast = [Parser]::ParseInput($line, [ref] $tokens, [ref] $errors)
        $errors | Should -BeNullOrEmpty
        $ast.FindAll({ $args[0] -is [CommandAst] }, $true) | Should -HaveCount 1
    }

    It 'is there once, and goes with Disable-RpcCompletion, the module and the runspace' {
        Enable-RpcCompletion
        Count-Predictors | Should -Be 1
        Disable-RpcCompletion
        Count-Predictors | Should -Be 0

        $other = [powershell]::Create()
        $null = $other.AddScript("Import-Module '$((Get-Module ProtoRpc).Path)'; Enable-RpcCompletion").Invoke()
        Count-Predictors | Should -Be 1
        $null = $other.Commands.Clear()
        $null = $other.AddScript('Remove-Module ProtoRpc').Invoke()
        Count-Predictors | Should -Be 0
        $null = $other.Commands.Clear()
        $null = $other.AddScript("Import-Module '$((Get-Module ProtoRpc).Path)'; Enable-RpcCompletion").Invoke()
        $other.Runspace.Close()
        $other.Dispose()
        Count-Predictors | Should -Be 0
        Enable-RpcCompletion
        Count-Predictors | Should -Be 1
    }

    It 'takes less than 20 ms, as PSReadLine waits' {
        $null = Predict 'Invoke-RpcMethod Place @{ '
        $times = foreach ($i in 1..20) { (Measure-Command { Predict 'Invoke-RpcMethod Place @{ ' }).TotalMilliseconds }
        # Other programs take their share of the machine from some of them.
        ($times | Sort-Object)[4] | Should -BeLessThan 20
    }
}

Describe 'The warm-up of completion' {
    It 'ends its runspace' {
        Enable-RpcCompletion
        Disable-RpcCompletion
        $until = [DateTime]::UtcNow.AddSeconds(60)
        while ((Get-Runspace -Name 'ProtoRpc completion') -and [DateTime]::UtcNow -lt $until) {
            [Threading.Thread]::Sleep(20)
        }
        Get-Runspace -Name 'ProtoRpc completion' | Should -BeNullOrEmpty
    }
}
