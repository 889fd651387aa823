using Shop;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>The examples of the XML docs of endpoints, schemas and messages.</summary>
internal static class SchemaExamples
{
    public static string Endpoint()
    {
        // <RpcEndpoint>
        RpcEndpoint endpoint = RpcEndpoint.Parse("grpcs://shop:443");
        RpcEndpoint other = endpoint.WithHost("shop2").WithPort(8443);
        // </RpcEndpoint>
        return other.ToString();
    }

    public static string Schema(TextWriter Console)
    {
        // <RpcSchema>
        RpcSchema schema = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);
        foreach (RpcMethodInfo method in schema.GetService("shop.Orders").Methods)
        {
            Console.WriteLine(method.FullName);
        }
        // </RpcSchema>
        return Console.ToString()!;
    }

    public static async Task<RpcSchema> LoadAsync(string file)
    {
        // <RpcSchemaLoader>
        RpcSchema schema = await RpcSchemaLoader.LoadAsync(file);
        // </RpcSchemaLoader>
        return schema;
    }

    public static string Compare(RpcSchema released, RpcSchema planned)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <RpcSchemaComparison>
        foreach (RpcBreakingChange change in RpcSchemaComparison.Compare(released, planned))
        {
            Console.WriteLine($"{change.Rule}: {change.Message}");
        }
        // </RpcSchemaComparison>
        return output.ToString();
    }

    public static DynamicMessage Message(RpcSchema schema)
    {
        // <DynamicMessage>
        DynamicMessage request = new(schema.GetMessage("shop.PlaceRequest"));
        request["order"] = new { id = "o1", items = new[] { "tea", "cups" } };
        DynamicMessage order = (DynamicMessage)request["order"]!;
        // </DynamicMessage>
        return order;
    }

    public static string Map(RpcSchema schema)
    {
        // <MessageMapper>
        MessageMapper mapper = new() { AllowUnknownFields = true };
        DynamicMessage reply = mapper.ToMessage(
            schema.GetMessage("shop.PlaceReply"), new { id = "o1", total = 2, note = "ignored" });
        // </MessageMapper>
        return reply.ToString();
    }

    public static DynamicMessage Formats(RpcSchema schema)
    {
        // <MessageFormats>
        DynamicMessage reply = MessageFormats.Json.Read(
            schema.GetMessage("shop.PlaceReply"), """{ "id": "o1", "total": 2 }""");
        string xml = MessageFormats.Xml.ToText(reply);
        // </MessageFormats>
        return MessageFormats.Xml.Read(schema.GetMessage("shop.PlaceReply"), xml);
    }

    public static async Task<RpcEndpoint> RegisterAsync(string file, string address)
    {
        // <RpcEndpointRegistry>
        RpcEndpointRegistry registry = new(file);
        registry.Register(new RpcNamedEndpoint("orders", RpcEndpoint.Parse(address)));
        RpcNamedEndpoint found = registry.Find("orders")[0];
        await using RpcClient client = await RpcClient.ConnectAsync(found.Endpoint);
        // </RpcEndpointRegistry>
        return client.Endpoint;
    }
}
