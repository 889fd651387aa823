# The service of conversations, whose handlers do what a line says.
$Global:TalkProto = Join-Path $TestProtos talk.proto
$Global:TalkHandlers = @{
    Say = { param($Request) $Request }
    Split = { param($Request)
        foreach ($word in $Request.text -split ' ') {
            switch ($word) {
                'fail' { throw [ProtoRpc.RpcException]::new('DataLoss', 'No more words.') }
                'hold' { $null = $RpcContext.CancellationToken.WaitHandle.WaitOne(60000) }
                'endless' { for ($i = 0; -not $RpcContext.CancellationToken.IsCancellationRequested; $i++) { @{ text = 'x'; number = $i } } }
                default { @{ text = $word } }
            }
        }
    }
    Join = { param($Request) @{ text = @($Request | ForEach-Object text) -join ' ' } }
    Chat = { param($Request)
        $RpcContext.ReplyHeaders['x-mood'] = 'glad'
        $RpcContext.ReplyTrailers['x-end'] = 'bye'
        foreach ($line in $Request) {
            switch ($line.text) {
                'bye' { return }
                'fail' { throw [ProtoRpc.RpcException]::new('FailedPrecondition', 'The shop is closed.') }
                'deaf' { $null = $RpcContext.CancellationToken.WaitHandle.WaitOne(60000) }
                default { @{ text = "$($line.text)!"; number = $line.number } }
            }
        }
    }
}

function Global:Start-Talk([string[]] $Endpoint = "inproc://$(New-TestName)") {
    Start-RpcListener $Endpoint -Schema $TalkProto -Service talk.Talk -Handler $TalkHandlers -ListenerOption @{ WorkerCount = 32 }
}

function Global:Connect-Talk($Listener, [int] $Index = 0) {
    Connect-RpcEndpoint $Listener.Endpoint[$Index] -Schema $Listener.Schema -Service talk.Talk
}
