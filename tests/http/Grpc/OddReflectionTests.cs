using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Http.Tests.Tool;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>What <c>list</c>, <c>describe</c> and <c>call</c> give with servers whose reflection is
/// odd.</summary>
public sealed class OddReflectionTests
{
    private const string Shop =
        "shop.Shop\n  rpc Get (shop.GetRequest) returns (shop.Item);\n"
        + "  rpc Say (shop.Text) returns (shop.Text);\n";

    private const string Other = "other.Other\n  rpc Send (other.Echo) returns (other.Echo);\n";

    private static readonly Dictionary<string, OddServer> Servers = new(StringComparer.Ordinal)
    {
        // All that a good server has.
        ["a good server"] = new(script => { }),
        ["a stream for each answer"] = new(script => script.EndsStreams = true),
        ["a status instead of an error answer"] = new(script =>
        {
            script.Services.Add("shop.Gone");
            script.Instead = request => request.FileContainingSymbol == "shop.Gone"
                ? throw new RpcException(RpcStatusCode.Internal, "no such symbol")
                : null;
        })
        {
            List = $"{Shop}{Other}shop.Gone\n  // no such symbol\n",
            Warning = "lists shop.Gone, but does not describe it: no such symbol",
        },
        ["an error for one service"] = new(script => script.Services.Insert(0, "shop.Gone"))
        {
            List = $"{Shop}{Other}shop.Gone\n  // not here\n",
            Warning = "lists shop.Gone, but does not describe it: not here",
        },
        ["an answer of another kind"] = new(script =>
        {
            script.Services.Add("shop.Gone");
            script.Instead = request => request.FileContainingSymbol == "shop.Gone"
                ? [ReflectionScript.List("x")]
                : null;
        })
        {
            List = $"{Shop}{Other}shop.Gone\n  // The server's answer is not a file.\n",
            Warning = "The server's answer is not a file.",
        },
        ["a file that does not declare the service"] = new(script =>
        {
            script.Services.Add("shop.Gone");
            script.Instead = request => request.FileContainingSymbol == "shop.Gone"
                ? [ReflectionScript.Send(script["shop/types.proto"])]
                : null;
        })
        {
            List = $"{Shop}{Other}shop.Gone\n"
                + "  // The files that the server returns for it do not declare it.\n",
            Warning = "do not declare it",
        },
        ["all files with each answer"] = new(script => script.Instead = request =>
            request.FileContainingSymbol.Length > 0 ? [ReflectionScript.Send(script.Files.Values)] : null),
        ["all files in the wrong order, twice"] = new(script => script.Instead = request =>
            request.FileContainingSymbol.Length > 0
                ? [ReflectionScript.Send(script.Files.Values.Concat(script.Files.Values.Reverse()))]
                : null),
        ["answers twice"] = new(script => script.Instead = request =>
            [script.Good(request), script.Good(request)]),

        // Files that only options need.
        ["no file of custom options"] = new(script => script.Files.Remove("shop/notes.proto")),
        ["no descriptor.proto"] = new(script =>
            script.Files.Remove("google/protobuf/descriptor.proto")),
        ["an option of a missing type"] = new(script =>
        {
            FieldDescriptorProto note = script["shop/notes.proto"].Extension[0];
            note.Type = FieldDescriptorProto.Types.Type.Message;
            note.TypeName = ".shop.notes.Gone";
        }),

        // Files that messages need.
        ["no file of a message"] = new(script => script.Files.Remove("shop/types.proto"))
        {
            Warning = "does not return 'shop/types.proto', which declares 'shop.Item'. "
                + "These methods cannot be called: shop.Shop/Get.",
            Describe = "The server does not return 'shop/types.proto'",
            Get = "'shop/types.proto'",
        },
        ["no file of an enum"] = new(script =>
        {
            script["shop/types.proto"].EnumType.Clear();
            script["shop/types.proto"].Dependency.Add("shop/colors.proto");
        })
        {
            Warning = "does not return 'shop/colors.proto', which declares 'shop.Color'. "
                + "These methods cannot be called: shop.Shop/Get.",
            Get = "'shop/colors.proto'",
        },

        // Names of files.
        ["other paths"] = new(script => Rename(script, name => $"src/main/{name}")),
        ["other case"] = new(script => Rename(script, name => name.ToUpperInvariant())),
        ["backslashes"] = new(script => Rename(script, name => name.Replace('/', '\\'))),
        ["no names"] = new(script => Rename(script, _ => "")),
        ["placeholders"] = new(script =>
        {
            Rename(script, _ => "<unknown:0>");
            foreach (FileDescriptorProto file in script.Files.Values)
            {
                Replace(file.Dependency, _ => "<unknown:0>");
            }
        }),
        ["names with control characters"] = new(script =>
        {
            Rename(script, name => $"\u001b[2J{name}");
            script.Services.Add("shop.\u001b[31mRed");
        })
        {
            Warning = "A service is listed, but its name cannot be used: 'shop.",
        },
        ["files only by symbol"] = new(script => script.Instead = request =>
            request.FileByFilename.Length > 0 ? [ReflectionScript.Fail("by symbol only")] : null),

        // Imports.
        ["no imports"] = new(script => script["shop/shop.proto"].Dependency.Clear())
        {
            Describe = "service Shop {",
        },
        ["files that import each other"] = new(script =>
        {
            script["shop/types.proto"].Dependency.Add("shop/shop.proto");
            script["other/other.proto"].Dependency.Add("other/other.proto");
        }),
        ["files whose types need each other"] = new(script =>
        {
            // As a server that makes files of packages: the parts of both files depend on each other.
            DescriptorProto text = script["shop/shop.proto"].MessageType[1];
            script["shop/shop.proto"].MessageType.Remove(text);
            script["shop/types.proto"].MessageType.Add(text);
            script["shop/types.proto"].MessageType.Add(new DescriptorProto
            {
                Name = "History",
                Field =
                {
                    new FieldDescriptorProto
                    {
                        Name = "last", Number = 1, Type = FieldDescriptorProto.Types.Type.Message,
                        TypeName = ".shop.GetRequest", Label = FieldDescriptorProto.Types.Label.Optional,
                    },
                },
            });
            script["shop/types.proto"].Dependency.Add("shop/shop.proto");
        }),
        ["types of two packages that need each other"] = new(script =>
        {
            script["shop/shop.proto"].MessageType[0].Field.Add(FieldOf("bad.Bad"));
            script.Files.Add("bad.proto", new FileDescriptorProto
            {
                Name = "bad.proto",
                Package = "bad",
                Syntax = "proto3",
                Dependency = { "shop/shop.proto" },
                MessageType =
                {
                    new DescriptorProto { Name = "Bad", Field = { FieldOf("shop.GetRequest") } },
                },
            });
            script["shop/shop.proto"].Dependency.Add("bad.proto");
        })
        {
            // One of the two is left out.
            IsEither = true,
            Warning = "need each other in a circle",
        },
        ["relative names of types"] = new(script =>
        {
            foreach (MethodDescriptorProto method in script["shop/shop.proto"].Service[0].Method)
            {
                method.InputType = method.InputType.Replace(".shop.", "");
                method.OutputType = method.OutputType.Replace(".shop.", "");
            }
        }),

        // Types that are declared twice.
        ["the same type in two files"] = new(script => script["shop/shop.proto"].MessageType.Add(
            script["shop/types.proto"].MessageType[0].Clone())),
        ["different types of one name in two files"] = new(script =>
        {
            DescriptorProto item = script["shop/types.proto"].MessageType[0].Clone();
            item.Field[0].Name = "title";
            script["other/other.proto"].MessageType.Add(item);
            script["other/other.proto"].Package = "shop";
            script["other/other.proto"].Service[0].Method[0].InputType = ".shop.Echo";
            script["other/other.proto"].Service[0].Method[0].OutputType = ".shop.Echo";
            script.Services.Remove("other.Other");
            script.Services.Add("shop.Other");
        })
        {
            List = $"shop.Other\n  rpc Send (shop.Echo) returns (shop.Echo);\n{Shop}",
            Warning = "'shop.Item' is declared differently in '",
            HasOther = false,
        },
        ["a well-known file by another name"] = new(script =>
        {
            FileDescriptorProto file = FileDescriptorProto.Parser.ParseFrom(
                Google.Protobuf.WellKnownTypes.TimestampReflection.Descriptor.SerializedData);
            file.Name = "protos/timestamp.proto";
            script.Files.Add("protos/timestamp.proto", file);
            script["shop/types.proto"].Dependency.Add("protos/timestamp.proto");
            script["shop/types.proto"].MessageType[0].Field.Add(FieldOf("google.protobuf.Timestamp"));
            script["shop/shop.proto"].Dependency.Add("google/protobuf/timestamp.proto");
            script["shop/shop.proto"].MessageType[0].Field.Add(FieldOf("google.protobuf.Timestamp"));
        }),

        // Files that cannot be linked.
        ["a file that is no file"] = new(script =>
        {
            script.Services.Add("shop.Gone");
            script.Instead = request =>
            {
                ServerReflectionResponse reply = ReflectionScript.Send();
                reply.FileDescriptorResponse.FileDescriptorProto.Add(ByteString.CopyFrom(0xff, 0xff, 0xff));
                return request.FileContainingSymbol == "shop.Gone" ? [reply] : null;
            };
        })
        {
            List = $"{Shop}{Other}shop.Gone\n"
                + "  // The files that the server returns for it do not declare it.\n",
            Warning = "cannot be read",
        },
        ["a file with a number twice"] = new(script =>
        {
            FieldDescriptorProto field = script["other/other.proto"].MessageType[0].Field[0].Clone();
            field.Name = "again";
            script["other/other.proto"].MessageType[0].Field.Add(field);
        })
        {
            List = $"{Shop}other.Other\n  // 'other/other.proto' has errors:",
            Warning = "'other/other.proto' of grpc://",
            HasOther = false,
        },
        ["a service with a broken option"] = new(script =>
            script["other/other.proto"].Service[0].Options = ServiceOptions.Parser.ParseFrom(
                Convert.FromHexString("C23E040A026E6F")))
        {
            List = $"{Shop}other.Other\n  // 'other/other.proto' has errors:",
            Warning = "is not a GUID",
            HasOther = false,
        },
        ["a file of a future edition"] = new(script =>
        {
            script["other/other.proto"].Syntax = "editions";
            script["other/other.proto"].Edition = (Edition)9999;
        })
        {
            List = $"{Shop}other.Other\n  // 'other/other.proto' has errors:",
            Warning = "edition 9999",
            HasOther = false,
        },
    };

    public static TheoryData<string> Names => [.. Servers.Keys];

    [Theory]
    [MemberData(nameof(Names))]
    public async Task What_is_good_of_a_server_can_be_used(string name)
    {
        OddServer odd = Servers[name];
        ReflectionScript script = new();
        odd.Change(script);
        using ScriptedReflection server = new(script);
        string endpoint = server.Endpoint.ToString();

        ClientRun list = await ClientRun.RunAsync(["list", endpoint]);
        ClientRun describe = await ClientRun.RunAsync(["describe", endpoint, "shop.Shop", "shop.Item"]);
        ClientRun get = await CallAsync(endpoint, "shop.Shop/Get", "name=pen");
        ClientRun say = await CallAsync(endpoint, "shop.Shop/Say", "text=hi");
        ClientRun send = await CallAsync(endpoint, "other.Other/Send", "text=hi");

        if (odd.IsEither)
        {
            Assert.Contains(odd.Warning!, list.Error, StringComparison.Ordinal);
            Assert.Equal(("{\n  \"text\": \"hi\"\n}\n", 0), (send.Output, send.Code));
            return;
        }

        Assert.StartsWith(odd.List, list.Output, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', list.Output + list.Error + describe.Output);
        Assert.Contains("rpc Say (", describe.Output, StringComparison.Ordinal);
        Assert.Contains(odd.Describe, describe.Output, StringComparison.Ordinal);
        if (odd.Warning is { } warning)
        {
            Assert.Contains(warning, list.Error, StringComparison.Ordinal);
        }
        else
        {
            Assert.Equal("", list.Error);
        }

        if (odd.Get is { } error)
        {
            Assert.NotEqual(0, get.Code);
            Assert.Contains("shop.Shop/Get cannot be called", get.Error, StringComparison.Ordinal);
            Assert.Contains(error, get.Error, StringComparison.Ordinal);
        }
        else
        {
            Assert.Equal((0, true), (get.Code, get.Output.Contains("\"pen\"", StringComparison.Ordinal)));
        }

        Assert.Equal(("{\n  \"text\": \"hi\"\n}\n", 0), (say.Output, say.Code));
        Assert.Equal(odd.HasOther, send.Code == 0);
    }

    [Fact]
    public async Task Given_files_fill_the_gaps_of_the_server_and_the_server_theirs()
    {
        ReflectionScript script = new();
        script.Files.Remove("shop/types.proto");
        using ScriptedReflection server = new(script);
        string endpoint = server.Endpoint.ToString();
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string types = Path.Combine(folder.FullName, "types.pb");
            await File.WriteAllBytesAsync(
                types,
                new FileDescriptorSet
                {
                    File = { new ReflectionScript()["shop/types.proto"] },
                }.ToByteArray());

            ClientRun get = await ClientRun.RunAsync(
                ["call", endpoint, "shop.Shop/Get", "--schema", types, "--use-reflection"]);
            ClientRun say = await ClientRun.RunAsync(
                ["call", endpoint, "Say", "--schema", types, "--use-reflection", "--set", "text=hi"]);
            RpcSchema both = RpcSchemaLoader.Load([types, endpoint]);

            Assert.Equal(("", 0, "", 0), (get.Error, get.Code, say.Error, say.Code));
            Assert.Contains("COLOR_RED", get.Output, StringComparison.Ordinal);
            Assert.Empty(both.Warnings);
            Assert.Null(both.GetMethod("shop.Shop/Get").Problem);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public void A_schema_of_several_sources_warns_of_what_is_missing()
    {
        ReflectionScript script = new();
        script.Files.Remove("shop/types.proto");
        using ScriptedReflection server = new(script);

        RpcSchema schema = RpcSchemaLoader.Load(server.Endpoint.ToString());

        Assert.Contains("'shop/types.proto'", Assert.Single(schema.Warnings), StringComparison.Ordinal);
        Assert.Equal(["shop/shop.proto", "other/other.proto"], schema.RootFiles.Order().Reverse());
        Assert.NotNull(schema.GetMethod("shop.Shop/Get").Problem);
    }

    [Fact]
    public void A_gateway_forwards_the_methods_that_can_be_called()
    {
        ReflectionScript script = new();
        script.Files.Remove("shop/types.proto");
        script.Services.Add("shop.Gone");
        using ScriptedReflection server = new(script);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        client.FetchSchema();
        using RpcServer gateway = RpcGateway
            .Create(client, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        using RpcClient caller = RpcClient.Connect(gateway.Endpoints[0], ReflectionScript.Schema);
        RpcMethodInfo say = caller.GetMethod("Say");

        DynamicMessage reply = caller.Invoke(
            say, new MessageMapper().ToMessage(say.RequestType, new Dictionary<string, object?>
            {
                ["text"] = "hi",
            }));
        RpcException error = Assert.Throws<RpcException>(() => caller.Invoke(
            caller.GetMethod("Get"), new DynamicMessage(caller.GetMethod("Get").RequestType)));

        Assert.Equal("hi", reply.Get(say.ReplyType.FindField("text")!));
        Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
    }

    private static Task<ClientRun> CallAsync(string endpoint, string method, string field) =>
        ClientRun.RunAsync(["call", endpoint, method, "--set", field]);

    private static void Rename(ReflectionScript script, Func<string, string> rename)
    {
        foreach (FileDescriptorProto file in script.Files.Values)
        {
            file.Name = rename(file.Name);
        }
    }

    private static void Replace(IList<string> names, Func<string, string> replace)
    {
        for (int i = 0; i < names.Count; i++)
        {
            names[i] = replace(names[i]);
        }
    }

    private static FieldDescriptorProto FieldOf(string type) => new()
    {
        Name = "other",
        Number = 9,
        Type = FieldDescriptorProto.Types.Type.Message,
        TypeName = $".{type}",
        Label = FieldDescriptorProto.Types.Label.Optional,
    };

    /// <param name="Change">What is odd.</param>
    private sealed record OddServer(Action<ReflectionScript> Change)
    {
        /// <summary>The start of what list writes.</summary>
        public string List { get; init; } = $"{Shop}{Other}";

        /// <summary>A part of what describe writes.</summary>
        public string Describe { get; init; } = "message Item {";

        /// <summary>A part of the warnings; null for no warning.</summary>
        public string? Warning { get; init; }

        /// <summary>A part of the error of shop.Shop/Get; null if it can be called.</summary>
        public string? Get { get; init; }

        /// <summary>Whether other.Other/Send can be called.</summary>
        public bool HasOther { get; init; } = true;

        /// <summary>Whether only other.Other is sure.</summary>
        public bool IsEither { get; init; }
    }
}
