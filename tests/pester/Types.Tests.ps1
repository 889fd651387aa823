. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $cmdlets = (Get-Command -Module ProtoRpc -CommandType Cmdlet).Name
}

Describe 'The types of <_>' -ForEach $cmdlets {
    BeforeAll {
        $Script:cmdlet = Get-Command -Module ProtoRpc $_

        # The type itself, or the one within arrays, nullables and collections.
        function Expand-Type([type] $Type) {
            if ($Type.HasElementType) { Expand-Type $Type.GetElementType() }
            elseif ($Type.IsGenericType) { $Type.GetGenericArguments().ForEach{ Expand-Type $_ } }
            else { $Type }
        }
    }

    It 'of its parameters can be named in a script' {
        foreach ($parameter in $cmdlet.Parameters.Values) {
            foreach ($type in Expand-Type $parameter.ParameterType) {
                $type.FullName -as [type] | Should -Be $type -Because "-$($parameter.Name) has it"
            }
        }
    }

    It 'of its output, and of what that holds, can be named in a script' {
        $seen = [Collections.Generic.HashSet[type]]::new()
        $open = [Collections.Generic.Queue[type]]::new()
        foreach ($output in $cmdlet.OutputType) {
            $output.Type | Should -Not -BeNullOrEmpty -Because "[$($output.Name)] is an output type"
            (Expand-Type $output.Type).ForEach{ $open.Enqueue($_) }
        }

        while ($open.Count -gt 0) {
            $type = $open.Dequeue()
            if ($type.Assembly.GetName().Name -notlike 'ProtoRpc*' -or -not $seen.Add($type)) { continue }

            $type.FullName -as [type] | Should -Be $type
            foreach ($property in $type.GetProperties()) {
                (Expand-Type $property.PropertyType).ForEach{ $open.Enqueue($_) }
            }
        }
    }

    It 'let Pester mock it' {
        Mock $cmdlet.Name { 'mocked' }

        $required = $cmdlet.ParameterSets[0].Parameters | Where-Object IsMandatory
        $given = @{}
        foreach ($parameter in $required) {
            $given[$parameter.Name] = switch ($parameter.ParameterType) {
                { $_ -in [ProtoRpc.RpcListener], [ProtoRpc.RpcListener[]] } { (Start-TestListener { @{} }) }
                { $_ -eq [ProtoRpc.RpcSchema] } { Import-RpcSchema (Join-Path $TestProtos greeter.proto) }
                { $_ -eq [int] -or $_ -eq [int[]] } { 1 }
                { $_ -eq [byte[]] } { [byte[]] @(1) }
                default { 'ncalrpc:[Mocked]' }
            }
        }

        try {
            & $cmdlet.Name @given -ErrorAction SilentlyContinue | Should -Be 'mocked'
        }
        catch [System.Management.Automation.ParameterBindingException] {
            # What a mock needs is that the command can be built: a value that none is at hand for is not its fault.
            $_.FullyQualifiedErrorId | Should -BeLike 'ParameterArgument*'
        }
    }

    It 'let a proxy be made of it' {
        $source = [System.Management.Automation.ProxyCommand]::Create([System.Management.Automation.CommandMetadata]::new($cmdlet))

        $proxy = New-Item "Function:\Test-Proxy" -Value $source -Force
        $proxy.Parameters.Keys.Count | Should -Be $cmdlet.Parameters.Keys.Count
        foreach ($name in $cmdlet.Parameters.Keys) {
            $proxy.Parameters[$name].ParameterType | Should -Be $cmdlet.Parameters[$name].ParameterType
        }
        Remove-Item Function:\Test-Proxy
    }
}

Describe 'The types of objects' {
    AfterAll { Clear-Test }

    BeforeAll {
        $Script:listener = Start-TestListener { @{ text = 'hi' } }
        $Script:rpc = Connect-Test $listener
    }

    It 'can be asked for by -is' {
        $listener -is [ProtoRpc.RpcListener] | Should -BeTrue
        $rpc -is [ProtoRpc.RpcConnection] | Should -BeTrue
        $listener.Schema -is [ProtoRpc.RpcSchema] | Should -BeTrue
        (Get-RpcMethod -Schema $listener.Schema SayHello) -is [ProtoRpc.RpcMethodInfo] | Should -BeTrue
        (Test-RpcEndpoint -Connection $rpc) -is [ProtoRpc.RpcPingResult] | Should -BeTrue
        ($rpc | Invoke-RpcMethod SayHello -Raw) -is [ProtoRpc.DynamicMessage] | Should -BeTrue
    }

    It 'can be asked for in a handler' {
        $typed = Start-TestListener {
            @{ text = "$($RpcContext -is [ProtoRpc.RpcMethodContext]), $([ProtoRpc.RpcSchema].Name)" }
        }

        (Connect-Test $typed | Invoke-RpcMethod SayHello).text | Should -Be 'True, RpcSchema'
    }

    It 'can be declared for parameters of functions and members of classes' {
        function Get-Names([ProtoRpc.RpcSchema] $Schema, [ProtoRpc.RpcListener[]] $Listener) {
            "$($Schema.Services.Count) $($Listener.Count)"
        }

        Get-Names -Schema $listener.Schema -Listener $listener, $listener | Should -Be '2 2'
        { Get-Names -Schema 'text' } | Should -Throw '*RpcSchema*'
        $holder = & ([scriptblock]::Create('class Holder { [ProtoRpc.RpcConnection] $Connection }; [Holder]::new()'))
        $holder.Connection = $rpc
        $holder.Connection | Should -Be $rpc
    }
}

Describe 'The names of types' {
    BeforeAll {
        # The shell remembers a name that it has resolved once, so the names are looked for where they are registered.
        $Script:registered = "[psobject].Assembly.GetType('System.Management.Automation.TypeAccelerators')::Get.ContainsKey('ProtoRpc.RpcSchema')"
    }

    It 'go with the module, and come again with it' {
        $result = Invoke-Pwsh @"
'before: ' + ('ProtoRpc.RpcSchema' -as [type])
Import-Module '$ModuleManifest'
`$first = [ProtoRpc.RpcSchema]
Import-Module '$ModuleManifest' -Force
'same: ' + ([ProtoRpc.RpcSchema] -eq `$first)
Remove-Module ProtoRpc
'registered: ' + $registered
Import-Module '$ModuleManifest'
'again: ' + (`$first -eq [ProtoRpc.RpcSchema] -and $registered)
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'before: ', 'same: True', 'registered: False', 'again: True'
    }

    It 'stay while another runspace has the module' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$other = [powershell]::Create([System.Management.Automation.RunspaceMode]::NewRunspace)
`$null = `$other.AddScript("Import-Module '$ModuleManifest'").Invoke()
Remove-Module ProtoRpc
`$other.Commands.Clear()
`$other.AddScript("'ProtoRpc.RpcSchema' -as [type] | ForEach-Object FullName").Invoke()
`$other.Commands.Clear()
`$null = `$other.AddScript('Remove-Module ProtoRpc').Invoke()
'registered: ' + $registered
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'ProtoRpc.RpcSchema', 'registered: False'
    }

    It 'are the same for two versions of the module in one process' {
        $copy = Join-Path $TestDrive modules ProtoRpc 9.9.9
        $null = New-Item -ItemType Directory (Join-Path $copy cmdlets)
        $root = Split-Path $ModuleManifest
        Copy-Item (Join-Path $root ProtoRpc.psm1) $copy
        Copy-Item (Join-Path $root bin) $copy -Recurse
        Copy-Item (Join-Path $root cmdlets/views) (Join-Path $copy cmdlets/views) -Recurse
        (Get-Content $ModuleManifest -Raw) -replace "ModuleVersion = '[^']*'", "ModuleVersion = '9.9.9'" |
            Set-Content (Join-Path $copy ProtoRpc.psd1)

        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$first = [ProtoRpc.RpcSchema]
Import-Module '$copy/ProtoRpc.psd1'
'same: ' + ([ProtoRpc.RpcSchema] -eq `$first)
Get-Module ProtoRpc | Where-Object Version -EQ 9.9.9 | Remove-Module
'kept: ' + $registered
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'same: True', 'kept: True'
    }
}
