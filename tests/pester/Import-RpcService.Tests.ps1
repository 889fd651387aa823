. (Join-Path $PSScriptRoot common.ps1)

Describe 'Import-RpcService' {
    BeforeAll {
        . (Join-Path $PSScriptRoot shop.ps1)
        $shop = Start-RpcListener "inproc://$(New-TestName)" -Schema $ShopProto -Handler $ShopHandlers
        $rpc = Connect-RpcEndpoint $shop.Endpoint[0] -Schema $shop.Schema
        $module = $rpc | Import-RpcService -Prefix Test -PassThru
    }

    AfterAll {
        Remove-Module Test -ErrorAction Ignore
        Clear-Test
    }

    Context 'commands' {
        It 'makes one of each method, with approved verbs' {
            (Get-Command -Module Test).Name | Sort-Object | Should -Be @(
                'Add-TestOrders', 'Connect-TestOrders', 'Get-TestOrder', 'Invoke-TestSayHello', 'New-TestOrder'
                'Search-Test')
            $approved = (Get-Verb).Verb
            (Get-Command -Module Test).Verb.Where{ $_ -notin $approved } | Should -BeNullOrEmpty
            $module.Name | Should -Be 'Test'
        }

        It 'gives each field a parameter with the type of the field' {
            $parameters = (Get-Command New-TestOrder).Parameters

            $parameters.Id.ParameterType | Should -Be ([long])
            $parameters.Customer.ParameterType | Should -Be ([string])
            $parameters.Tags.ParameterType | Should -Be ([string[]])
            $parameters.Lines.ParameterType | Should -Be ([int[]])
            $parameters.PlacedAt.ParameterType | Should -Be ([DateTimeOffset])
            $parameters.Wait.ParameterType | Should -Be ([timespan])
            $parameters.Photo.ParameterType | Should -Be ([byte[]])
            $parameters.Gift.SwitchParameter | Should -BeTrue
            $parameters.PageSize.Aliases | Should -Be 'page_size'
            $common = [System.Management.Automation.Cmdlet]::CommonParameters +
                [System.Management.Automation.Cmdlet]::OptionalCommonParameters
            $fields = $parameters.Keys.Where{ $_ -notin $common }
            $fields.Count | Should -Be (18 + 7)
            foreach ($name in $fields.Where{
                    $_ -notin 'InputObject', 'Connection', 'Deadline', 'Header', 'AsHashtable', 'ThrottleLimit', 'AsJob' }) {
                $parameters[$name].Attributes.ValueFromPipelineByPropertyName | Should -Contain $true -Because $name
            }
        }

        It 'gives fields named as other parameters the suffix Field' {
            $parameters = (Get-Command New-TestOrder).Parameters

            $order = New-TestOrder -VerboseField a -HostField b -ConnectionField c
            $order.verbose, $order.host, $order.connection | Should -Be 'a', 'b', 'c'
            (New-TestOrder -Host x).host | Should -Be 'x'
            $parameters.Verbose.ParameterType | Should -Be ([switch])
        }

        It 'makes a parameter mandatory where proto2 requires the field' {
            Import-RpcService -Schema (Join-Path $RepositoryRoot protos/search.proto) -Prefix Two
            (Get-Command Search-Two).Parameters.Query.Attributes.Mandatory | Should -Contain $true
            (Get-Command Search-Two).Parameters.PageNumber.Attributes.Mandatory | Should -Not -Contain $true
            Remove-Module Two
        }

        It 'takes required fields from hashtables and objects of the pipeline' {
            $search = Start-RpcListener "inproc://$(New-TestName)" -Handler @{
                Search = { param($Request) @{ result = @{ url = "$($Request.query) $([int]$Request.page_number)" } } }
            } -Schema (Join-Path $RepositoryRoot protos/search.proto)
            $connection = Connect-RpcEndpoint $search.Endpoint[0] -Schema $search.Schema
            $connection | Import-RpcService -Prefix Two
            function Get-Url { process { $_.result[0].url } }

            @{ query = 'a' } | Search-Two | Get-Url | Should -Be 'a 0'
            [pscustomobject]@{ query = 'b'; other = 1 } | Search-Two -PageNumber 2 | Get-Url | Should -Be 'b 2'
            @{ page_number = 3 }, [pscustomobject]@{ page_number = 4 } | Search-Two -Query c | Get-Url |
                Should -Be 'c 3', 'c 4'
            Search-Two -InputObject @{ query = 'd' } | Get-Url | Should -Be 'd 0'
            'query,page_number', 'e,5' | ConvertFrom-Csv | Search-Two | Get-Url | Should -Be 'e 5'

            @{ page_number = 1 }, [pscustomobject]@{ page_number = 1 }, @{ query = 'f' } |
                Search-Two -ErrorAction SilentlyContinue -ErrorVariable failed | Get-Url | Should -Be 'f 0'
            $failed.FullyQualifiedErrorId | Should -Be @(
                'MissingRequiredField,Search-Two', 'MissingRequiredField,Search-Two')
            $failed[1].ToString() | Should -BeLike 'Row 2:*query*required*'
            Remove-Module Two
            Disconnect-RpcEndpoint $connection
            Stop-RpcListener $search
        }

        It 'counts an object without any field among the rows, and names it' {
            $stranger = [pscustomobject]@{ colour = 'red' }

            [pscustomobject]@{ Id = 1 }, $stranger, @{ idd = 3 } | Get-TestOrder `
                -ErrorAction SilentlyContinue -ErrorVariable failed | Should -HaveCount 1

            $failed.TargetObject[0] | Should -Be $stranger
            "$($failed[0])" | Should -BeLike '*has no property that is a field*'
            "$($failed[1])" | Should -BeLike 'Row 3:*idd*'
        }

        It 'has the reply as its output type' {
            (Get-Command Get-TestOrder).OutputType.Name | Should -Be 'ProtoRpc.Message#shop.Order'
        }
    }

    Context 'calls' {
        It 'sends what the parameters say' {
            $order = New-TestOrder -Id 3 -Status status_open -Address @{ city = 'Bonn' } -Tags a, b -Gift `
                -PageSize 0 -Wait 5s -PlacedAt 2024-02-29 -Photo base64:AQID -Stock @{ lamp = 1 } -Lines 1, 2 `
                -Others @{ city = 'Rome' }, ([pscustomobject]@{ city = 'Oslo' })

            $order.id | Should -Be 3
            $order.status | Should -Be STATUS_OPEN
            $order.address.city | Should -Be Bonn
            $order.tags | Should -Be a, b
            $order.gift | Should -BeTrue
            $order.page_size | Should -Be 0
            $order.wait | Should -Be ([timespan]'00:00:05')
            $order.placed_at.UtcDateTime.ToString('o') | Should -Be '2024-02-29T00:00:00.0000000Z'
            $order.photo | Should -Be 1, 2, 3
            $order.stock['lamp'] | Should -Be 1
            $order.lines | Should -Be 1, 2
            $order.others.city | Should -Be Rome, Oslo
            $order.pstypenames[0] | Should -Be 'ProtoRpc.Message#shop.Order'
        }

        It 'leaves out what is not given' {
            (New-TestOrder).page_size | Should -BeNullOrEmpty
            (New-TestOrder -Gift:$false).gift | Should -BeFalse
            (New-TestOrder -PlacedAt $null -Wait '').placed_at | Should -BeNullOrEmpty
        }

        It 'takes the first time that there is' {
            (New-TestOrder -PlacedAt '0001-01-01T00:00:00Z').placed_at | Should -Be ([DateTimeOffset]::MinValue)
            (New-TestOrder -PlacedAt ([DateTimeOffset]::MinValue)).placed_at | Should -Be ([DateTimeOffset]::MinValue)
            (New-TestOrder -PlacedAt $null).placed_at | Should -BeNullOrEmpty
            (New-TestOrder -PlacedAt '').placed_at | Should -BeNullOrEmpty
        }

        It 'takes numbers of an open enum' {
            (New-TestOrder -Status 2).status | Should -Be STATUS_SENT
            (New-TestOrder -Status 99).status | Should -Be 99
        }

        It 'refuses two fields of a oneof, and says which' {
            { New-TestOrder -Card a -Iban b -ErrorAction Stop } |
                Should -Throw -ErrorId 'OneofConflict,New-TestOrder' -ExpectedMessage '*iban*payment*card*'
        }

        It 'refuses a value that does not fit, and names the enum' {
            { New-TestOrder -Status STATUS_OPN -ErrorAction Stop } | Should -Throw '*shop.Status*STATUS_OPEN*'
            { New-TestOrder -Wait soon -ErrorAction Stop } | Should -Throw '*duration*'
            { New-TestOrder -Photo '?' -ErrorAction Stop } | Should -Throw "*'utf8:`?'*'base64:Pw=='*"
            { New-TestOrder -Photo 'base64:?' -ErrorAction Stop } | Should -Throw '*is not base64*'
            (New-TestOrder -Photo 'utf8:a ').photo | Should -Be 0x61, 0x20
            (New-TestOrder -Photo 'base64:AQI=').photo | Should -Be 1, 2
        }

        It 'makes a call for each object of the pipeline, with columns as fields' {
            $orders = "id,customer,tags,gift,page_size,lines,placed_at,address.city,verbose,other
                1,Ann,`"[`"`"a`"`",`"`"b`"`"]`",true,,,2024-01-01,Bonn,v,x
                2,Bob,,false,3,`"[1,2]`",,,," -replace '(?m)^ +' | ConvertFrom-Csv | New-TestOrder

            $orders.id | Should -Be 1, 2
            $orders[0].tags | Should -Be a, b
            $orders[0].address.city | Should -Be Bonn
            $orders[0].verbose | Should -Be v
            $orders.gift | Should -Be $true, $false
            $orders[0].page_size | Should -BeNullOrEmpty
            $orders[1].page_size | Should -Be 3
            $orders[1].lines | Should -Be 1, 2
            $orders[1].tags | Should -BeNullOrEmpty
            $orders[1].placed_at | Should -BeNullOrEmpty
        }

        It 'takes nothing of an object over to the next' {
            $orders = [pscustomobject]@{ id = 1; customer = 'Ann' }, [pscustomobject]@{ id = 2 }, @{ id = 3 } |
                New-TestOrder -Tags x

            $orders.customer | Should -Be 'Ann', '', ''
            $orders.tags | Should -Be x, x, x
        }

        It 'takes replies and hashtables from the pipeline' {
            (Get-TestOrder -Id 7 | New-TestOrder).customer | Should -Be Ann
            (New-TestOrder -Card c -Gift | New-TestOrder -Id 5).card | Should -Be c
            (@{ id = 8; address = @{ city = 'Bonn' } } | New-TestOrder -Customer Eve).customer | Should -Be Eve
            (New-TestOrder -InputObject @{ id = 9 }).id | Should -Be 9
        }

        It 'goes on after an object that fails, and says which it was' {
            $found = 1, -2, 3 | ForEach-Object { @{ id = $_ } } |
                Get-TestOrder -ErrorAction SilentlyContinue -ErrorVariable failed

            $found.id | Should -Be 1, 3
            $failed.FullyQualifiedErrorId | Should -Be 'RpcStatus.NotFound,Get-TestOrder'
            $failed[0].ToString() | Should -BeLike 'Row 2:*no order -2*'
        }

        It 'goes on after an object with a property that throws, and says which it was' {
            $bad = [pscustomobject]@{ id = 1 } | Add-Member ScriptProperty customer { throw 'protected' } -PassThru

            $replies = $bad, [pscustomobject]@{ id = 2; customer = 'b' } |
                New-TestOrder -ErrorVariable errors -ErrorAction SilentlyContinue
            $replies.id | Should -Be 2
            $errors | Should -HaveCount 1
            $errors[0].FullyQualifiedErrorId | Should -BeLike 'InvalidFieldValue,*'
            $errors[0] | Should -BeLike "*'customer' cannot be read*protected*"

            # What is given comes first, so the property is not read.
            ($bad | New-TestOrder -Customer a).customer | Should -Be 'a'
        }

        It 'refuses objects that have nothing of a request' {
            [pscustomobject]@{ other = 7 } | Get-TestOrder -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed.FullyQualifiedErrorId | Should -Be 'InvalidInputObject,Get-TestOrder'
            'x' | New-TestOrder -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed.FullyQualifiedErrorId | Should -Be 'InvalidInputObject,New-TestOrder'
            @{ idd = 7 } | Get-TestOrder -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed.FullyQualifiedErrorId | Should -Be 'UnknownField,Get-TestOrder'
        }

        It 'has the parameters of a call' {
            Get-TestOrder -Id 1 -AsHashtable | Should -BeOfType System.Collections.Specialized.OrderedDictionary
            (Get-TestOrder -Id 1 -Header @{ 'x-note' = 'n' } -Deadline 5).card | Should -Be n
            (Get-TestOrder -Id 1 -Connection $rpc).id | Should -Be 1
            (1..20 | ForEach-Object { @{ id = $_ } } | Get-TestOrder -ThrottleLimit 4).id | Sort-Object |
                Should -Be (1..20)
        }

        It 'runs as a job' {
            $job = Get-TestOrder -Id 4 -AsJob
            ($job | Complete-Job).id | Should -Be 4
        }

        It 'calls several connections, and says which replied' {
            $replies = Get-TestOrder -Id 1 -Connection $rpc, $rpc
            $replies.PSRpcEndpoint | Should -Be $shop.Endpoint[0].ToString(), $shop.Endpoint[0].ToString()
        }

        It 'works under Set-StrictMode -Version Latest' {
            & { Set-StrictMode -Version Latest; (Get-TestOrder -Id 6).id } | Should -Be 6
        }
    }

    Context 'the first required or the only field' {
        It 'takes its value without a name' {
            (Get-TestOrder 7).id | Should -Be 7
            (Get-Command Get-TestOrder -Syntax) -replace '\s+', ' ' | Should -BeLike '*Get-TestOrder `[`[-Id`] <long>`]*'
            (Get-Help Get-TestOrder -Parameter Id).position | Should -Be '0'
            { New-TestOrder 7 -ErrorAction Stop } | Should -Throw '*positional*'

            Import-RpcService -Schema (Join-Path $RepositoryRoot protos/search.proto) -Prefix Two
            (Get-Command Search-Two).ParameterSets[0].Parameters.Where{ $_.Position -eq 0 }.Name | Should -Be Query
            Remove-Module Two
        }

        It 'takes texts and numbers of the pipeline where it is the only one' {
            ('7', '8' | Get-TestOrder).id | Should -Be 7, 8
            (7, [long]8 | Get-TestOrder).id | Should -Be 7, 8
            (Get-TestOrder -InputObject '9').id | Should -Be 9
            ('1', '2' | Connect-TestOrders).id | Should -Be 2, 4
            (([pscustomobject]@{ id = 3 }), @{ id = 4 } | Get-TestOrder).id | Should -Be 3, 4

            'x', '5' | Get-TestOrder -ErrorAction SilentlyContinue -ErrorVariable failed | ForEach-Object id | Should -Be 5
            "$failed" | Should -BeLike "Row 1:*id*'x'*"
        }
    }

    Context '-WhatIf and -Confirm' {
        BeforeAll {
            # The lines of a transcript that -WhatIf writes to the host.
            function Get-WhatIf([scriptblock] $Script) {
                $file = Join-Path $TestDrive "$(New-TestName).txt"
                $null = Start-Transcript $file
                try { & $Script } finally { $null = Stop-Transcript }
                Get-Content $file | Where-Object { $_ -like 'What if:*' }
            }
        }

        It 'are there unless the verb only reads' {
            foreach ($name in 'New-TestOrder', 'Add-TestOrders', 'Connect-TestOrders', 'Invoke-TestSayHello') {
                (Get-Command $name).Parameters.Keys | Should -Contain WhatIf
                (Get-Help $name -Parameter Confirm).name | Should -Be Confirm
            }
            foreach ($name in 'Get-TestOrder', 'Search-Test') {
                (Get-Command $name).Parameters.Keys | Should -Not -Contain WhatIf
                (Get-Help $name).syntax.syntaxItem[0].parameter.name | Should -Not -Contain WhatIf
            }
        }

        It 'show what would be called, and call nothing' {
            $before = $shop.Calls
            $lines = Get-WhatIf {
                @{ id = 1 }, [pscustomobject]@{ id = 2 } | New-TestOrder -Customer "Ann`e[31m" -WhatIf | Should -BeNullOrEmpty
                New-TestOrder -Id 3 -WhatIf -AsJob | Should -BeNullOrEmpty
                1..3 | ForEach-Object { @{ id = $_ } } | Add-TestOrders -WhatIf | Should -BeNullOrEmpty
                Add-TestOrders -WhatIf | Should -BeNullOrEmpty
                @() | Add-TestOrders -WhatIf | Should -BeNullOrEmpty
            }

            $shop.Calls | Should -Be $before
            $endpoint = "$($rpc.Endpoint)"
            $lines | Should -HaveCount 6
            $lines[0] | Should -BeLike "What if: * `"shop.Shop/CreateOrder`" on target `"{`"customer`": `"Ann\u001B``[31m`", `"id`": 1} at $endpoint`"."
            $lines[1] | Should -BeLike '*"id": 2}*'
            $lines[3] | Should -BeLike "*`"shop.Shop/AddOrders`" on target `"$endpoint`"."
        }

        It 'follow the preferences of the session' {
            & {
                $WhatIfPreference = $true
                New-TestOrder -Id 4 | Should -BeNullOrEmpty
                (Get-TestOrder 4).id | Should -Be 4
            }
            (New-TestOrder -Id 5 -Confirm:$false).id | Should -Be 5
            (New-TestOrder -Id 5).id | Should -Be 5
            $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$listener = Start-RpcListener inproc://asked -Schema '$ShopProto' -Handler @{ CreateOrder = { `$_ } }
Connect-RpcEndpoint inproc://asked -Schema `$listener.Schema | Import-RpcService -Prefix Asked
`$ConfirmPreference = 'Medium'
try { New-AskedOrder -Id 6 } catch { "asked: `$_" }
"calls: `$(`$listener.Calls)"
"@
            $result.Output | Should -Match 'asked:'
            $result.Output | Should -Match 'calls: 0'
        }

        It 'leave the request out of -Verbose' {
            $records = New-TestOrder -Card secret -Verbose 4>&1
            "$($records -join "`n")" | Should -Match 'shop\.Shop/CreateOrder'
            "$($records.Where{ $_ -is [System.Management.Automation.VerboseRecord] })" | Should -Not -Match 'secret'
        }
    }

    Context 'streams' {
        It 'writes replies as they come, and cancels the call when nobody takes more' {
            (Search-Test -Id 10 | Select-Object -First 3).id | Should -Be 11, 12, 13
            Wait-Until { $shop.InFlight -eq 0 } | Should -BeTrue
        }

        It 'takes the pipeline as the messages of a stream' {
            $summary = 1..4 | ForEach-Object { [pscustomobject]@{ id = $_ } } | Add-TestOrders
            $summary.count, $summary.sum | Should -Be 4, 10
            (Add-TestOrders -Id 5).sum | Should -Be 5
            (@() | Add-TestOrders).count | Should -Be 0
            (Add-TestOrders).count | Should -Be 0
        }

        It 'sends and receives at the same time' {
            (1..3 | ForEach-Object { @{ id = $_ } } | Connect-TestOrders).id | Should -Be 2, 4, 6
        }
    }

    Context 'help' {
        It 'is that of the .proto' {
            $help = Get-Help Get-TestOrder -Full

            $help.Synopsis | Should -Be 'Gets an order.'
            ($help.description.Text -join "`n") | Should -Match 'The order must exist\.'
            (Get-Help New-TestOrder -Parameter Customer).description.Text | Should -Match 'Who ordered\.'
            (Get-Help New-TestOrder -Parameter Status).description.Text | Should -Match 'STATUS_OPEN'
            $help.examples.example.code | Should -Be 'Get-TestOrder 1'
        }
    }

    Context 'completion' {
        It 'offers the names of an enum' {
            (Complete 'New-TestOrder -Status STATUS_O').CompletionText | Should -Be 'STATUS_OPEN'
        }

        It 'offers a nested message as a hashtable' {
            $text = (Complete 'New-TestOrder -Address ').CompletionText
            $text | Should -Be "@{ street = ''; city = '' }"
            (& ([scriptblock]::Create("New-TestOrder -Address $text"))).address.city | Should -Be ''
        }
    }

    Context 'errors' {
        It 'needs a schema that the endpoint does not tell' {
            $listener = Start-TestListener { @{} }
            { Import-RpcService $listener.Endpoint[0] -ErrorAction Stop } | Should -Throw -ErrorId 'NoSchema,*'
            @(Get-RpcConnection).Count | Should -Be 1
            $listener | Stop-RpcListener
        }

        It 'refuses prefixes, services and parameters that mean nothing' {
            { $rpc | Import-RpcService -Prefix '$(x)' -ErrorAction Stop } | Should -Throw -ErrorId 'InvalidPrefix,*'
            { $rpc | Import-RpcService -Service None -ErrorAction Stop } | Should -Throw -ErrorId 'ServiceNotFound,*'
            { $rpc | Import-RpcService -ConnectionOption @{ Tls = $true } -ErrorAction Stop } | Should -Throw -ErrorId 'ParameterNotSupported,*'
        }

        It 'says that a connection that it was given is closed' {
            $other = Connect-RpcEndpoint $shop.Endpoint[0] -Schema $shop.Schema
            $other | Import-RpcService -Prefix Gone
            $other | Disconnect-RpcEndpoint
            { Get-GoneOrder -ErrorAction Stop } | Should -Throw -ErrorId 'ConnectionClosed,*'
            Remove-Module Gone
        }
    }

    It 'imports the services of a gRPC server from its reflection' {
        $port = Start-RpcListener grpc://127.0.0.1:0 -Schema $ShopProto -Handler $ShopHandlers
        Import-RpcService $port.Endpoint[0] -Prefix Net
        (Get-Command -Module Net).Count | Should -Be 6
        (Get-NetOrder -Id 3).id | Should -Be 3
        (Search-Net -Id 0 | Select-Object -First 2).id | Should -Be 1, 2
        Remove-Module Net
        $port | Stop-RpcListener -DrainTimeout 0
    }
}
