namespace ProtoRpc.Commands;

/// <summary>The commands of services: what a module for them has.</summary>
internal sealed class ServicePlan
{
    /// <summary>How many methods one module takes.</summary>
    public const int MaxCommands = 10_000;

    // A command is a class with a property for each parameter, and classes stay until the process ends.
    private const int MaxParameters = 1000;
    private const int MaxAllParameters = 50_000;

    private const int MaxPrefixLength = 60;

    // Services of gRPC itself, which other tools call.
    private static readonly string[] OwnPackages = ["grpc.reflection.", "grpc.health.", "grpc.channelz."];

    private readonly Dictionary<string, ServiceCommand> _byName;

    private ServicePlan(
        RpcSchema schema, string moduleName, string prefix, IReadOnlyList<ServiceCommand> commands)
    {
        Schema = schema;
        ModuleName = moduleName;
        Prefix = prefix;
        Commands = commands;
        _byName = commands.ToDictionary(command => command.Name, StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>Where the methods come from.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The module's name: the prefix, else the name of the first service.</summary>
    public string ModuleName { get; }

    /// <summary>What each noun begins with; may be empty.</summary>
    public string Prefix { get; }

    /// <summary>The commands in declared order.</summary>
    public IReadOnlyList<ServiceCommand> Commands { get; }

    /// <summary>The commands whose requests have so many fields, or that are so many, that they take the
    /// request whole.</summary>
    public IEnumerable<ServiceCommand> WithoutParameters =>
        Commands.Where(command => !command.HasParameters);

    /// <summary>The commands that got a longer name, because a command of the shell has the
    /// shorter one.</summary>
    public IEnumerable<(ServiceCommand Command, string Shorter)> Renamed => Commands
        .Select(command => (command, CommandNames.Shortest(command.Method, Prefix)))
        .Where(pair => ShellCommands.Names.Contains(pair.Item2));

    /// <summary>Plans the commands. None has a name of <see cref="ShellCommands"/>.</summary>
    /// <param name="schema">Has the services.</param>
    /// <param name="services">The services by their names; empty for all but those of gRPC itself.</param>
    /// <param name="prefix">What each noun begins with.</param>
    /// <param name="taken">Names of commands that the module has already.</param>
    /// <exception cref="RpcException">InvalidArgument or NotFound: the prefix cannot be part of a name, there
    /// is no such service, no method at all, or too many.</exception>
    public static ServicePlan Create(
        RpcSchema schema, IReadOnlyCollection<string> services, string prefix,
        params IEnumerable<string> taken)
    {
        CheckPrefix(prefix);
        List<RpcServiceInfo> chosen = services.Count > 0
            ? [.. services.Select(schema.GetService).Distinct()]
            : [.. schema.Services.Where(service => !IsOwn(service))];
        List<RpcMethodInfo> methods = [.. chosen.SelectMany(service => service.Methods)];
        if (methods.Count is 0 or > MaxCommands)
        {
            throw NotMade(chosen, methods.Count);
        }

        IReadOnlyList<string> names = CommandNames.Of(methods, prefix, [.. ShellCommands.Names, .. taken]);
        int left = MaxAllParameters;
        List<ServiceCommand> commands = [];
        for (int i = 0; i < methods.Count; i++)
        {
            int fields = methods[i].RequestType.Fields.Count;
            bool hasParameters = fields <= MaxParameters && fields <= left;
            left -= hasParameters ? fields : 0;
            commands.Add(new ServiceCommand(names[i], methods[i], hasParameters));
        }

        string first = NameWords.Pascal(chosen[0].Name);
        string moduleName = prefix.Length > 0 ? prefix : first.Length > 0 ? first : "Service";
        return new(schema, moduleName, prefix, commands);
    }

    /// <summary>A command by its name, or null.</summary>
    public ServiceCommand? Find(string name) => _byName.GetValueOrDefault(name);

    private static bool IsOwn(RpcServiceInfo service) =>
        OwnPackages.Any(package => service.FullName.StartsWith(package, StringComparison.Ordinal));

    private static void CheckPrefix(string prefix)
    {
        bool isWord = prefix.Length == 0
            || (char.IsAsciiLetter(prefix[0]) && prefix.All(char.IsAsciiLetterOrDigit)
                && prefix.Length <= MaxPrefixLength);
        if (!isWord)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{prefix}' cannot be part of a command's name. Give up to {MaxPrefixLength} ASCII letters "
                + "and digits, the first one a letter, such as 'Shop'.")
            {
                ErrorId = RpcErrorIds.InvalidPrefix,
            };
        }
    }

    private static RpcException NotMade(List<RpcServiceInfo> services, int count) => count == 0
        ? new(
            RpcStatusCode.NotFound,
            services.Count == 0
                ? "The schema has no services to make commands for."
                : $"{string.Join(", ", services.Take(5))}: there are no methods to make commands for.")
        {
            ErrorId = RpcErrorIds.NoMethods,
        }
        : new(
            RpcStatusCode.InvalidArgument,
            $"There are {count:N0} methods, and a module has at most {MaxCommands:N0} commands. Choose "
            + "fewer services.")
        {
            ErrorId = RpcErrorIds.TooManyMethods,
        };
}
