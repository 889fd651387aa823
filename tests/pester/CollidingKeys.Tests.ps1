. (Join-Path $PSScriptRoot common.ps1)

Describe 'Keys of a map that a peer chooses to collide' {
    BeforeAll {
        $script:proto = Join-Path $TestDrive names.proto
        Set-Content $proto @'
syntax = "proto3";
package names;
message Names {
  map<int64, string> names = 1;
  map<uint32, string> small = 2;
}
service Book { rpc Look (Names) returns (Names); }
'@
        # .NET gives all these numbers one hash, or puts them into one of 36,353 buckets.
        $keys = foreach ($i in 0..19999) { ([long]$i -shl 32) -bor ([long]$i -bxor 0x1234567) }
        $small = foreach ($i in 0..19999) { [uint32]($i * 36353L) }
        $json = '{"names":{' + (($keys | ForEach-Object { "`"$_`":`"x`"" }) -join ',') + '},"small":{' +
            (($small | ForEach-Object { "`"$_`":`"x`"" }) -join ',') + '}}'
        $message = $json | ConvertFrom-RpcMessage -Type names.Names -Schema $proto -Format Json

        # How many of 36,353 buckets the keys of a dictionary lie in.
        function Get-BucketCount($Dictionary, $Keys) {
            $comparer = $Dictionary.psbase.Comparer
            $buckets = [System.Collections.Generic.HashSet[int]]::new()
            foreach ($key in $Keys) {
                [void]$buckets.Add(($comparer.GetHashCode($key) -band [int]::MaxValue) % 36353)
            }

            $buckets.Count
        }
    }

    AfterAll { Clear-Test }

    It 'lie in many buckets of the dictionaries that scripts get' {
        $message.names.Count | Should -Be 20000
        $message.small.Count | Should -Be 20000
        Get-BucketCount $message.names $keys | Should -BeGreaterThan 10000
        Get-BucketCount $message.small $small | Should -BeGreaterThan 10000
    }

    It 'find their values' {
        $message.names[$keys[7]] | Should -Be x
        $message.small[3 * 36353] | Should -Be x
        $message.names.ContainsKey(5L) | Should -BeFalse
    }

    It 'pass through a handler and back before the deadline' {
        $listener = Start-RpcListener grpc://127.0.0.1:0 -Schema $proto -Handler @{
            'names.Book/Look' = { param($Request) @{ names = $Request.names; small = $Request.small } }
        }
        $reply = Invoke-RpcMethod names.Book/Look $message -Endpoint $listener.Endpoint -Schema $proto -Deadline 20

        $reply.names.Count | Should -Be 20000
        Get-BucketCount $reply.names $keys | Should -BeGreaterThan 10000
    }
}
